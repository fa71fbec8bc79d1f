# SPDX-License-Identifier: Apache-2.0
"""Base class of all network types: a scenario under construction with the source line of each part, and its runs."""

import copy
import json
import sys
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Self

from slotwise import scenario
from slotwise.errors import InvalidArgument, SlotwiseError, UnknownArgument, UnknownFibre, UnknownName
from slotwise.results.report import Report
from slotwise.scenario import Json, Problem, ScenarioError
from slotwise.tools import command
from slotwise.tools.command import Ended, RunDirectory
from slotwise.tools.files import put

HERE = str(Path(__file__).resolve().parent)
DEFAULT_PHASE_S = 5.0
PACKETS = 100
"""Default capacity of the queue in front of a link, packets."""
GROUPED = ("routers", "ring", "ops")
"""Sections of networks with host groups, where flows last for the whole run."""


class RunFailed(SlotwiseError):
    """A run that violated an invariant, lost a file, or ended without a report. `report`: its report, if any; `status` and `said`: exit
    status of the command and last lines of its standard error."""

    def __init__(self, message: str, report: Report | None = None, ended: Ended | None = None):
        super().__init__(message)
        self.report = report
        self.status = ended.status if ended else None
        self.said = ended.said if ended else []


class Scenario:
    """A scenario under construction, of any network type. Methods that add something return the scenario, so that calls can be chained.

    Names of nodes, groups and links are checked at once, everything else when the scenario is checked, saved or run: a problem then has
    the line of the call that caused it. Rates are in bit/s, delays in ns, sizes in bytes, other times in s."""

    NEEDED: ClassVar[tuple[str, str]] = ("version", "missing; expected a scenario")
    """Key that `load` requires in a file, and the error for a file without it."""

    def __init__(self, base: Json, source: str | None = None, place: str | None = None):
        """`base`: a scenario, which is copied. `source`: its name in errors. `place`: its place in errors. Default: the line of the
        caller."""
        self.scenario = copy.deepcopy(base)
        name = base.get("name")
        self.source = source or (f"scenario '{name}'" if isinstance(name, str) else "scenario")
        # Paths in the scenario are relative to this directory.
        self._directory = Path.cwd()
        # Place of the caller's line that added the part at a JSON pointer.
        self._places = {"": _caller() if place is None else place}

    @classmethod
    def of(cls, document: Json, source: str | None = None, place: str | None = None) -> Self:
        """Complete scenario, which is checked when it is saved or run; `source` and `place`: its name and its place in errors."""
        made = cls.__new__(cls)
        Scenario.__init__(made, document, source, place)
        return made

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Scenario of a file. Raises ScenarioError with every problem, OSError, or CommandNotFound."""
        document = scenario.load(path)
        key, reason = cls.NEEDED
        if key not in document:
            raise ScenarioError(str(path), [Problem(f"/{key}", reason)])
        # The file is the place.
        made = cls.of(document, str(path), "")
        made._directory = Path(path).resolve().parent
        return made

    def save(self, path: str | Path) -> None:
        """Checks the scenario as a run does, and writes it. Raises ScenarioError, OSError, or CommandNotFound."""
        self.check()
        is_here = Path(path).resolve().parent == self._directory
        put(path, scenario.dump(self.scenario if is_here else self._placed(self.scenario)).encode())

    def check(self, target: str | None = None) -> None:
        """Checks the scenario for a run, on `target` if given. Raises ScenarioError with every problem, or CommandNotFound."""
        try:
            scenario.check(self._placed(self.scenario), self.source, target, self._directory)
        except ScenarioError as error:
            raise self._located(error.problems) from None

    def run(self, *, target: str | None = None, **options: Any) -> Report:
        """Emulates the scenario with Mininet hosts (needs root). `target`: P4 target of the switches, engine or bmv2. Other options as in
        `simulate`, without `columns` and `sample_frames`."""
        return self._run(options, "emulate", {"--target": target})

    def simulate(self, *, columns: str | Path | None = None, **options: Any) -> Report:
        """Simulates the scenario in virtual time. Options, as those of the command:

        `seed`; `duration_s`, to which the phases are scaled; `report`, a file for the report; `pcap`, a directory for captures, with
        `pcap_filter` and `snaplen`; `columns`, a directory for time series (`Report.columns`); `rest_port` and `p4runtime_port`.
        `quiet`: no output of command and controller to standard output and standard error. With a star also: `sample_frames`, the sampling
        period of the star in TDM frames (flows over the whole run use `sample_ms` of the scenario); `scheduler`, by name or as
        `{"name": ..., "settings": {...}}`, in place of the scenario's.

        Raises UnknownArgument or CommandNotFound before the run, ScenarioError or RunFailed after it.
        """
        directory = None if columns is None else Path(columns)
        return self._run(options, "simulate", {"--columns": directory}, directory)

    def phase(self, name: str, seconds: float = DEFAULT_PHASE_S) -> Self:
        """Starts a phase; traffic added next belongs to it. The run is as long as its phases."""
        self.scenario.pop("duration_ms", None)
        return self._append("phases", {"name": name, "duration_ms": ms(seconds), "flows": []})

    def traffic(self, kind: str, source: str = "all", destination: str = "all", **options: Any) -> Self:
        """Adds traffic between hosts of edges to the phase; endpoints are "all", an edge, or a host. `kind` and `options` as in scenario
        files. Raises InvalidArgument without a star."""
        self._need_star("traffic of phases")
        if not self.scenario.get("phases"):
            self.phase("main", self.scenario.get("duration_ms", DEFAULT_PHASE_S * 1000) / 1000)
        entry: Json = {"from": source, "to": destination}
        if "transport" in options:
            entry["transport"] = options.pop("transport")
        # A stream without settings needs no key.
        entry |= {kind: options} if options or kind != "tcp" else {}
        return self._append(f"phases/{len(self.scenario['phases']) - 1}/flows", entry)

    def file(self, source: str, destination: str, size_bytes: int) -> Self:
        """Adds one file over HTTP from host to host (`h0_0`) to the phase, compared by SHA-256. Raises InvalidArgument without a star."""
        return self.traffic("file", source, destination, bytes=size_bytes)

    def hosts(
        self,
        name: str,
        node: str,
        count: int = 1,
        *,
        rate_bps: int = 1_000_000_000,
        delay_ns: int = 1_000,
        down_delay_ns: int | None = None,
        buffer_packets: int | None = None,
        buffer_bytes: int | None = None,
        gtp: Json | None = None,
    ) -> Self:
        """Adds a group of `count` hosts at a node, each on a separate access link. `down_delay_ns`: delay towards the hosts, if different.
        `gtp`: rate allocation of their GTP sessions (`capacity_bps`, `interval_ms`, `alpha`, `beta` and so on). Raises UnknownName."""
        return self._append(
            "hosts/groups" if self._has_star() else "hosts",
            {
                "name": name,
                "count": count,
                "at": self._known("node", node, self._nodes()),
                "rate_bps": rate_bps,
                "up_delay_ns": delay_ns,
                "down_delay_ns": delay_ns if down_delay_ns is None else down_delay_ns,
                "buffer": buffer(buffer_packets, buffer_bytes),
                **({} if gtp is None else {"gtp": gtp}),
            },
        )

    def tcp(self, source: str = "all", destination: str = "all", **options: Any) -> Self:
        """Adds bulk TCP.

        In a star alone between hosts, edges or "all", in the phase; options `rate_bps` per stream, `streams` per flow, and `transport`.
        Elsewhere a stream from each host of a group to the host with the same number in another, over the whole run; options are keys of a
        scenario's `flows` (docs/scenario.md), such as `transport`, `sack`, `tcp={"paced": True}`, `dscp`, `packet_stats` and `name`; times
        also in s, such as `start_s` for `start_ms`; `size_bytes` for `bytes` (default: until the end of the run).

        Raises UnknownName, and UnknownArgument."""
        return self._flow("tcp", source, destination, options)

    def udp(
        self,
        source: str,
        destination: str,
        rate_bps: int,
        payload_bytes: int | None = None,
        *,
        process: str = "constant",
        **options: Any,
    ) -> Self:
        """Adds UDP datagrams: in a star alone of `payload_bytes`, elsewhere in full packets. `process`: constant, poisson, or on-off-pareto
        with `mean_on_ns`, `mean_off_ns`, `shape`. Ends and other options as in `tcp`. Raises UnknownName, and UnknownArgument."""
        payload = {} if payload_bytes is None else {"payload_bytes": payload_bytes}
        return self._flow("udp", source, destination, {"rate_bps": rate_bps, **payload, "process": process, **options})

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options: Any) -> Self:
        """Adds web users at the receivers that fetch pages; options `users`, `open`, `sizes`, `shape`, `max_bytes`. Ends and other options
        as in `tcp`. Raises UnknownName, and UnknownArgument."""
        given = {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **options}
        return self._flow("web", source, destination, given)

    def gtp(self, source: str, destination: str, **options: Any) -> Self:
        """Adds a GTP session between host groups of `size_bytes` or until the end of the run. `source_limit_bps`: source limit; `alpha`,
        `beta`: in place of those of the hosts; `initial_rate_bps`: initial rate, as if granted by both hosts; other options as in `tcp`.
        Raises UnknownName, and UnknownArgument."""
        return self._flow_of_run("gtp", source, destination, options)

    def workload(
        self,
        name: str | None = None,
        *,
        senders: str | list[str] | None = None,
        receivers: str | list[str] | None = None,
        **options: Any,
    ) -> Self:
        """Adds flows that start and end during the run (simulation only; docs/workloads.md). Options are keys of a scenario's `workloads`:
        `sizes` with a `load` or `closed`, or `incast`, `collective`, `list`, `coflows` or `pcap`; `pairs`, `transport`, `tcp` and so on, in
        either spelling, such as `start="1 ms"` or `start_ns=1_000_000`. `senders`, `receivers`: hosts, `from` and `to` in a scenario;
        or ranges of them such as `h0..h3`; default: all hosts, which send to each other. Raises UnknownName.

        network.workload("web", sizes="websearch", load=0.5, transport="dctcp", tcp={"min_rto": "1 ms"})
        """
        entry: Json = {} if name is None else {"name": name}
        for key, hosts in (("from", senders), ("to", receivers)):
            if hosts is not None:
                listed = [hosts] if isinstance(hosts, str) else list(hosts)
                entry[key] = [host if ".." in host else self._party(host) for host in listed]
        if (
            self._has_star()
            and not any(section in self.scenario for section in GROUPED)
            and not self.scenario.get("phases")
        ):
            self.phase("main")
        return self._append("workloads", entry | options)

    def fibre_change(self, at_s: float, edge: int, core: int = 0, **change: Any) -> Self:
        """Changes a fibre of a star `at_s` after the start: `rate_bps`, `delay_ns`, `loss`, `attenuation_mdb`, `up`. Raises UnknownFibre."""
        fibres = {(fibre["core"], each["id"]) for each in self._edges().values() for fibre in each["fibres"]}
        if (core, edge) not in fibres:
            names = (f"edge{e}-core{c}" for c, e in sorted(fibres))
            raise UnknownFibre("fibre", f"edge{edge}-core{core}", names, self.source)
        return self._append("changes", {"at_ms": ms(at_s), "core": core, "edge": edge, **change})

    def span_change(
        self, at_s: float, start: str, end: str, up: bool, *, every_s: float | None = None, times: int | None = None
    ) -> Self:
        """Takes down or brings up, in both directions, the span from a station of a ring to the next one, between two optical packet
        switches, or between an edge and its switch; once, or `times` times."""
        return self._change(at_s, {"span": f"{start}-{end}"}, every_s, times, {"up": up})

    def hosts_change(
        self, at_s: float, hosts: str, *, every_s: float | None = None, times: int | None = None, **change: Any
    ) -> Self:
        """Changes the access links of a host group: `up_delay_ns`, `down_delay_ns`. Raises UnknownName."""
        group = self._known("group of hosts", hosts, self._groups())
        return self._change(at_s, {"hosts": group}, every_s, times, change)

    def scheduler_change(self, at_s: float, scheduler: str | Json) -> Self:
        """Changes the scheduler at a time, by name or as `{"name": ..., "settings": {...}}`. Raises InvalidArgument without a star."""
        self._need_star("a scheduler")
        return self._append("changes", {"at_ms": ms(at_s), "scheduler": scheduler})

    def clocks(
        self,
        *,
        max_offset_ns: int = 400_000_000,
        max_drift_ppb: int = 50_000,
        walk_ppb: int = 50,
        step_ns: int = 1_000_000,
    ) -> Self:
        """Sets free-running clocks of all edges except the master: offsets from 0 to `max_offset_ns`, rates within `max_drift_ppb` (parts
        per billion) of the master's, which change by at most `walk_ppb` in each step of `step_ns`. Raises InvalidArgument without a star."""
        self._need_star("clocks")
        return self._set(
            "clocks",
            {
                "max_offset_ns": max_offset_ns,
                "max_drift_ppb": max_drift_ppb,
                "walk_ppb": walk_ppb,
                "step_ns": step_ns,
            },
        )

    def optics(
        self,
        attenuation_mdb: int | dict[int, int] = 0,
        *,
        launch_mdbm: int = 1_000,
        sensitivity_mdbm: int = -28_000,
        margin_mdb: int = 3_000,
    ) -> Self:
        """Sets transmitters and receivers: launch power and receiver sensitivity in dBm/1000, and the margin in dB/1000 within which a
        signal is reported. `attenuation_mdb`: fibre attenuation in dB/1000, one number for all, or by edge. Raises UnknownName, and
        InvalidArgument without a star."""
        self._need_star("optics")
        of_edges = attenuation_mdb if isinstance(attenuation_mdb, dict) else {}
        for edge in of_edges:
            self._known("edge", f"edge{edge}", self._edges())
        for entry in self.scenario["edges"]:
            for fibre in entry["fibres"]:
                fibre["attenuation_mdb"] = (
                    attenuation_mdb if isinstance(attenuation_mdb, int) else of_edges.get(entry["id"], 0)
                )
        return self._set(
            "optics",
            {"launch_mdbm": launch_mdbm, "sensitivity_mdbm": sensitivity_mdbm, "margin_mdb": margin_mdb},
        )

    def fault(self, kind: str, every_s: float, for_s: float | None = None, **options: Any) -> Self:
        """Adds injected faults of one type, `every_s` seconds apart on average, drawn from the seed (simulation only; docs/faults.md).
        `for_s`: mean duration in s; other options by type: `edge` (default: drawn for each fault); `share`, the probability that a message
        is affected; `min_ns` and `max_ns`, the range of clock steps."""
        of_time = {} if for_s is None else {"for_ms": ms(for_s)}
        return self._append("faults", {"kind": kind, "every_ms": ms(every_s), **of_time, **options})

    def table_entry(
        self,
        switch: str,
        table: str,
        action: str,
        match: Json | None = None,
        params: Json | None = None,
        priority: int | None = None,
    ) -> Self:
        """Adds an entry to a table of a custom P4 program; names are those of its P4Info. Without `match` it is the default action. Values are
        integers, or text in the notations of docs/write-your-own.md: addresses, prefixes, masks and ranges."""
        keys = {"match": match, "params": params, "priority": priority}
        given = {key: value for key, value in keys.items() if value is not None}
        return self._append("tables", {"switch": switch, "table": table, "action": action, **given})

    def controller(self, **options: Any) -> Self:
        """Sets options of the controller: path `metric` (hops or delay), `control_latency_ns`, and with a star `xcp_capacity_bps`."""
        return self._set("controller", self.scenario.get("controller", {}) | options)

    def _nodes(self) -> list[str]:
        """Names of the nodes that can have host groups."""
        return []

    def _has_star(self) -> bool:
        return "cores" in self.scenario

    def _need_star(self, what: str) -> None:
        if not self._has_star():
            raise InvalidArgument(f"{self.source} has no star; expected one for {what}")

    def _edges(self) -> dict[str, Json]:
        """Edges of a star by name."""
        return {f"edge{edge['id']}": edge for edge in self.scenario.get("edges", [])}

    def _groups(self) -> list[str]:
        """Names of the host groups."""
        listed = self.scenario["hosts"]
        return [group["name"] for group in (listed if isinstance(listed, list) else listed.get("groups", []))]

    def _party(self, name: str) -> str:
        """Name of one end of a flow. Hosts and edges of a star are known to the engine."""
        return name if self._has_star() else self._known("group of hosts", name, self._groups())

    def _flow(self, kind: str, source: str, destination: str, options: Json) -> Self:
        """Adds a flow to the phase of a star alone, elsewhere one over the whole run."""
        if any(section in self.scenario for section in GROUPED):
            return self._flow_of_run(kind, source, destination, options)
        return self.traffic(kind, source, destination, **options)

    def _flow_of_run(self, kind: str, source: str, destination: str, options: Json) -> Self:
        """Adds a flow over the whole run. Options that are None are omitted."""
        of_flow, of_kind = scenario.flow_keys(kind if kind in scenario.KINDS_OF_FLOW else None)
        entry: Json = {
            "name": f"flow{len(self.scenario['flows'])}",
            "from": self._party(source),
            "to": self._party(destination),
        }
        inner: Json = {}
        own_names = {key: _own_name(key) for key in [*of_kind, *of_flow]}
        keys = {own: key for key, own in own_names.items()}
        seen = set()
        for option, value in options.items():
            key = keys.get(option, option)
            if key not in own_names:
                raise UnknownArgument("option", option, own_names.values(), "a flow")
            if value is None:
                continue
            if key in seen:
                raise InvalidArgument(f"{option}: expected one of {own_names[key]} and {key}")
            seen.add(key)
            (inner if key in of_kind else entry)[key] = ms(value) if option != key and key.endswith("_ms") else value
        return self._append("flows", entry | ({} if kind == "tcp" else {kind: inner}))

    def _change(self, at_s: float, what: Json, every_s: float | None, times: int | None, change: Json) -> Self:
        again = {} if every_s is None else {"every_ms": ms(every_s)}
        again |= {} if times is None else {"times": times}
        return self._append("changes", {"at_ms": ms(at_s), **again, **what, **change})

    def _append(self, list_pointer: str, entry: object) -> Self:
        place: Any = self.scenario
        *parents, last = list_pointer.split("/")
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        entries = place.setdefault(last, [])
        self._places[f"/{list_pointer}/{len(entries)}"] = _caller()
        entries.append(entry)
        return self

    def _set(self, key: str, value: object) -> Self:
        self._places[f"/{key}"] = _caller()
        self.scenario[key] = value
        return self

    def _known(self, what: str, name: str, known: Any) -> str:
        if name not in known:
            raise UnknownName(what, name, known, self.source)
        return name

    def _located(self, problems: list[Problem]) -> ScenarioError:
        """Error with the caller's line for each problem."""
        return ScenarioError(
            self.source, [problem._replace(place=self._place_of(problem.pointer)) for problem in problems]
        )

    def _place_of(self, pointer: str) -> str:
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._places[pointer]

    def _placed(self, document: Json) -> Json:
        """Document with absolute paths."""
        return scenario.placed(document, self._directory)

    def _run(self, options: Json, name: str, extra: Json, columns: Path | None = None) -> Report:
        of_star = ["scheduler", "sample_frames"] if name == "simulate" else ["scheduler"]
        known = [
            *(of_star if self._has_star() else []),
            *(each.name for each in signature(self._start).parameters.values() if each.kind is each.KEYWORD_ONLY),
        ]
        for option in options:
            if option not in known:
                own = [flag.removeprefix("--") for flag in extra]
                raise UnknownArgument("option", option, [*known, *own], f"a run of {self.source}")
        document = self.scenario
        extra = extra | {"--sample-frames": options.pop("sample_frames", None)}
        if (scheduler := options.pop("scheduler", None)) is not None:
            document = {**document, "controller": {**document.get("controller", {}), "scheduler": scheduler}}
        return self._start(document, name, extra, columns, **options)

    def _start(
        self,
        document: Json,
        name: str,
        extra: Json,
        columns: Path | None = None,
        *,
        seed: int | None = None,
        duration_s: float | None = None,
        report: str | Path | None = None,
        pcap: str | Path | None = None,
        pcap_filter: str | None = None,
        snaplen: int | None = None,
        rest_port: int | None = None,
        p4runtime_port: int | None = None,
        quiet: bool = False,
    ) -> Report:
        with RunDirectory("experiment") as directory:
            file = Path(directory, "scenario.yaml")
            file.write_text(scenario.as_json(self._placed(document), self.source))
            report_file = Path(directory, "report.json") if report is None else Path(report)
            before = _stamp(report_file)
            options = {
                "--report": report_file,
                "--data": self._directory if "workloads" in document else None,
                "--seed": seed,
                "--duration": duration_s,
                "--pcap": pcap,
                "--pcap-filter": pcap_filter,
                "--snaplen": snaplen,
                "--rest-port": rest_port,
                "--p4runtime-port": p4runtime_port,
                **extra,
            }
            given = (word for option, value in options.items() if value is not None for word in (option, str(value)))
            ended = command.run(name, str(file), *given, directory=directory, quiet=quiet)
            data = None if _stamp(report_file) == before else _read(report_file)
            ended = replace(ended, said=[line.replace(str(file), self.source) for line in ended.said])
            if data is None:
                self._raise_problems(file)
                raise RunFailed(f"slotwise {name} {ended.how} without a report: {ended.reason}", None, ended)
        result = Report(data, columns)
        if ended.status != 0 or not result.ok:
            raise RunFailed("; ".join(result.failures) or f"slotwise {name} {ended.how}", result, ended)
        return result

    def _raise_problems(self, file: Path) -> None:
        """Raises ScenarioError if the run was not started because of the scenario."""
        try:
            problems = scenario.problems(str(file), *scenario.data(self.scenario, self._directory))
        except scenario.CheckFailed:
            return
        if problems:
            raise self._located(problems)


def ms(seconds: float) -> int:
    """Time in ms, as in scenarios. Raises InvalidArgument for anything but a finite number."""
    try:
        return round(seconds * 1000)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"expected a time in s, got {seconds!r}") from None


def buffer(packets: int | None, octets: int | None) -> Json:
    """Limit of a queue, in packets or in bytes. Raises InvalidArgument for both."""
    if packets is not None and octets is not None:
        raise InvalidArgument("buffer_packets, buffer_bytes: expected one of them")
    if octets is not None:
        return {"bytes": octets}
    return {"packets": PACKETS if packets is None else packets}


def _own_name(key: str) -> str:
    """Python name of a flow's option: times in s, and `size_bytes` for `bytes`."""
    return key.removesuffix("_ms") + "_s" if key.endswith("_ms") else {"bytes": "size_bytes"}.get(key, key)


def _caller() -> str:
    """File and line of the first caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Stamp of a file that changes with it, to recognize the report of an earlier run."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _read(file: Path) -> Json | None:
    """Content of a report; None if it is incomplete."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None
