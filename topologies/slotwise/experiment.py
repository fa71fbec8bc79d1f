# SPDX-License-Identifier: Apache-2.0
"""The short API: describe a network and its traffic, run it, look at the report."""
import copy
import json
import re
import sys
from contextlib import suppress
from pathlib import Path

from slotwise import builders, command, scenario
from slotwise.command import Ended
from slotwise.errors import SlotwiseError, UnknownEndpoint, UnknownFibre
from slotwise.home import CommandNotFound
from slotwise.report import Report
from slotwise.rundir import RunDirectory
from slotwise.scenario import Problem, ScenarioError

DEFAULT_PHASE_S = 5
HERE = str(Path(__file__).resolve().parent)
# As the engine says what is wrong with a scenario: one line a problem, after a line with the file's name.
PROBLEM = re.compile(r"(/\S*): (.+)")


class RunFailed(SlotwiseError):
    """A run broke an invariant, lost a file, or did not come to a report. `report` is what there is of one; `status` and `said`
    are the command's exit status and the last lines of its standard error."""

    def __init__(self, message: str, report: Report | None = None, ended: Ended | None = None):
        super().__init__(message)
        self.report = report
        self.status = ended.status if ended else None
        self.said = ended.said if ended else []


class Experiment:
    """A scenario in the making. Methods that add something return the experiment, so that they chain."""

    def __init__(self, base: dict, source: str | None = None):
        """`base` comes from a builder or from `scenario.load`; it is copied. `source` is what errors call it."""
        self.scenario = copy.deepcopy(base)
        self.source = source or f"scenario '{base.get('name')}'"
        # Where schedulers of one's own are looked for.
        self._directory = Path.cwd()
        # Where the caller added what is at a JSON pointer: what is wrong there is said with the place.
        self._places = {"": _caller()}

    @classmethod
    def load(cls, path: str | Path) -> "Experiment":
        """The experiment of a scenario file. Raises ScenarioError with every problem, or OSError."""
        loaded = Experiment(scenario.load(path), str(path))
        # The file is the place.
        loaded._places[""] = ""
        loaded._directory = Path(path).resolve().parent
        return loaded

    def phase(self, name: str, seconds: float = DEFAULT_PHASE_S) -> "Experiment":
        """Starts a phase; the traffic added next belongs to it."""
        return self._append("phases", {"name": name, "duration_ms": round(seconds * 1000), "traffic": []})

    def tcp(self, source: str = "all", destination: str = "all", **options) -> "Experiment":
        """Bulk TCP; options `rate_bps` of each stream, `streams` of each flow, and `transport`. Raises UnknownEndpoint."""
        return self._traffic("tcp", source, destination, options)

    def udp(
        self, source: str, destination: str, rate_bps: int, payload_bytes: int, process: str = "constant", **options,
    ) -> "Experiment":
        """UDP datagrams, `process` constant, poisson, or (simulated) on-off-pareto with `mean_on_ns`, `mean_off_ns`, `shape`.
        Raises UnknownEndpoint."""
        options = {"rate_bps": rate_bps, "payload_bytes": payload_bytes, "process": process, **options}
        return self._traffic("udp", source, destination, options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> "Experiment":
        """Simulated users at `destination` who fetch pages; options `users`, `shape`, `max_bytes`, `transport`. Raises
        UnknownEndpoint."""
        options = {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **options}
        return self._traffic("web", source, destination, options)

    def file(self, source: str, destination: str, size_bytes: int) -> "Experiment":
        """One file over HTTP from host to host (`h0_0`), compared by SHA-256. Raises UnknownEndpoint."""
        return self._traffic("file", source, destination, {"bytes": size_bytes})

    def link_change(self, at_s: float, edge: int, core: int = 0, **change) -> "Experiment":
        """Changes a fibre at a time from the start: `rate_bps`, `delay_ns`, `loss`, `attenuation_mdb`, `up`. Raises
        UnknownFibre."""
        fibres = {(fibre["core"], each["id"]) for each in self.scenario["edges"] for fibre in each["fibres"]}
        if (core, edge) not in fibres:
            names = (f"edge{e}-core{c}" for c, e in sorted(fibres))
            raise UnknownFibre("fibre", f"edge{edge}-core{core}", names, self.source)
        return self._append("link_changes", {"at_ms": round(at_s * 1000), "core": core, "edge": edge, **change})

    def fault(self, kind: str, every_s: float, **options) -> "Experiment":
        """Faults on purpose, drawn from the seed (virtual time only; docs/faults.md): `builders.fault` says of what kinds."""
        return self._append("faults", builders.fault(kind, every_s, **options))

    def scheduler_change(self, at_s: float, scheduler: str | dict) -> "Experiment":
        """Another scheduler from a time on, by name or as `{"name": ..., "settings": {...}}`."""
        return self._append("scheduler_changes", {"at_ms": round(at_s * 1000), "scheduler": scheduler})

    def clocks(self, **options) -> "Experiment":
        """Gives the edges clocks of their own: arguments of `builders.clocks`."""
        return self._set("clocks", builders.clocks(**options))

    def optics(self, attenuation_mdb: int | dict[int, int] = 0, **options) -> "Experiment":
        """Transmitters and receivers: arguments of `builders.optics`. `attenuation_mdb` is what fibres take from light, in dB / 1000:
        one number for all, or by edge. Raises UnknownEndpoint."""
        if isinstance(attenuation_mdb, dict):
            for edge in attenuation_mdb:
                self._check_endpoint(f"edge{edge}")
        for edge in self.scenario["edges"]:
            of_edge = attenuation_mdb.get(edge["id"], 0) if isinstance(attenuation_mdb, dict) else attenuation_mdb
            for fibre in edge["fibres"]:
                fibre["attenuation_mdb"] = of_edge
        return self._set("optics", builders.optics(**options))

    def save(self, path: str | Path) -> None:
        """Checks the scenario as a run does, and writes it. Where the engine's command is not there, by the schema only, which cannot
        say all. Raises ScenarioError, or OSError."""
        checked = self._checked(self.scenario)
        text = scenario.dump(checked if Path(path).resolve().parent == self._directory else self._placed(checked))
        with suppress(CommandNotFound):
            self._check_by_engine(text)
        Path(path).write_text(text)

    def run(self, *, target: str | None = None, **options) -> Report:
        """Emulates it with Mininet hosts (needs root). `target` is what runs the P4 programs, engine or bmv2; other options as
        `simulate` has them, without `columns`."""
        return self._start("emulate", {"--target": target}, **options)

    def simulate(self, *, columns: str | Path | None = None, sample_frames: int | None = None, **options) -> Report:
        """Simulates it in virtual time. Options, each as the command's own:

        `seed`; `duration_s`, to which the phases are scaled; `report`, a file that stays; `pcap`, a directory for captures, with
        `pcap_filter` and `snaplen`; `columns`, a directory for tables of measurements (`Report.columns`), a row every
        `sample_frames`; `rest_port` and `p4runtime_port`; `scheduler`, by name or as `{"name": ..., "settings": {...}}`, instead of the
        scenario's. `quiet`: nothing of what command and controller say goes on to standard output and standard error.

        Raises ScenarioError or CommandNotFound before, RunFailed after the run.
        """
        directory = None if columns is None else Path(columns)
        return self._start("simulate", {"--columns": directory, "--sample-frames": sample_frames}, directory, **options)

    def _traffic(self, kind: str, source: str, destination: str, options: dict) -> "Experiment":
        for endpoint in (source, destination):
            self._check_endpoint(endpoint)
        if not self.scenario["phases"]:
            self.phase("main")
        phase = len(self.scenario["phases"]) - 1
        entry = {"kind": kind, "from": source, "to": destination, **options}
        return self._append(f"phases/{phase}/traffic", entry)

    def _check_endpoint(self, endpoint: str) -> None:
        edges = {f"edge{edge['id']}": edge for edge in self.scenario["edges"]}
        names = {host.name for host in scenario.hosts(self.scenario)}
        if endpoint == "all" or endpoint in edges or endpoint in names:
            return
        host = re.fullmatch(r"h(\d+)_\d+", str(endpoint))
        edge = edges.get(f"edge{host[1]}") if host else None
        if edge:
            known = (each.name for each in scenario.hosts({"edges": [edge]}))
            raise UnknownEndpoint("host", endpoint, known, f"edge{edge['id']} of {self.source}")
        raise UnknownEndpoint("edge or host", endpoint, ["all", *edges], self.source)

    def _append(self, list_pointer: str, entry: dict) -> "Experiment":
        place = self.scenario
        *parents, last = list_pointer.split("/")
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        entries = place.setdefault(last, [])
        self._places[f"/{list_pointer}/{len(entries)}"] = _caller()
        entries.append(entry)
        return self

    def _set(self, key: str, value: dict) -> "Experiment":
        self._places[f"/{key}"] = _caller()
        self.scenario[key] = value
        return self

    def _checked(self, document: dict) -> dict:
        try:
            return scenario.check(document, self.source)
        except ScenarioError as error:
            raise self._located(error.problems) from error

    def _located(self, problems: list[Problem]) -> ScenarioError:
        """Says of each problem where the caller wrote what is wrong."""
        return ScenarioError(self.source, [problem._replace(place=self._place_of(problem.pointer)) for problem in problems])

    def _place_of(self, pointer: str) -> str:
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._places[pointer]

    def _start(
        self, name: str, extra: dict, columns: Path | None = None, *, seed: int | None = None, duration_s: float | None = None,
        report: str | Path | None = None, pcap: str | Path | None = None, pcap_filter: str | None = None,
        snaplen: int | None = None, rest_port: int | None = None, p4runtime_port: int | None = None,
        scheduler: str | dict | None = None, quiet: bool = False,
    ) -> Report:
        document = self.scenario
        if scheduler is not None:
            document = {**document, "controller": {**document["controller"], "scheduler": scheduler}}
        self._checked(document)
        with RunDirectory("experiment") as directory:
            file = Path(directory, "scenario.yaml")
            file.write_text(scenario.dump(self._placed(document)))
            report_file = Path(directory, "report.json") if report is None else Path(report)
            before = _stamp(report_file)
            options = {
                "--report": report_file, "--seed": seed, "--duration": duration_s, "--pcap": pcap, "--pcap-filter": pcap_filter,
                "--snaplen": snaplen, "--rest-port": rest_port, "--p4runtime-port": p4runtime_port, **extra,
            }
            given = (word for option, value in options.items() if value is not None for word in (option, str(value)))
            ended = command.run(name, str(file), *given, directory=directory, quiet=quiet)
            data = None if _stamp(report_file) == before else _read(report_file)
            said = [line.replace(str(file), self.source) for line in ended.said]
        ended = ended._replace(said=said)
        if data is None:
            self._raise_problems(said)
            reason = "\n".join(said).strip() or "it said nothing"
            raise RunFailed(f"slotwise {name} {ended.how} and without a report: {reason}", None, ended)
        result = Report(data, columns)
        if ended.status != 0 or not result.ok:
            raise RunFailed("; ".join(result.failures) or f"slotwise {name} {ended.how}", result, ended)
        return result

    def _placed(self, document: dict) -> dict:
        """A document that may be anywhere: with its own schedulers by their whole paths."""
        if "schedulers" not in document:
            return document
        own = {}
        for name, entry in document["schedulers"].items():
            key = "jar" if "jar" in entry else "directory"
            own[name] = {**entry, key: str(self._directory / entry.get(key, ""))}
        return {**document, "schedulers": own}

    def _check_by_engine(self, text: str) -> None:
        with RunDirectory("experiment") as directory:
            file = Path(directory, "scenario.yaml")
            file.write_text(text)
            ended = command.check(str(file))
            said = [line.replace(str(file), self.source) for line in ended.said]
        self._raise_problems(said)
        if ended.status != 0:
            reason = "\n".join(said).strip() or "it said nothing"
            raise RunFailed(f"slotwise check {ended.how}: {reason}", None, ended._replace(said=said))

    def _raise_problems(self, said: list[str]) -> None:
        """Raises ScenarioError if the engine refused the scenario for what the schema cannot say."""
        with suppress(ValueError):
            after = said[said.index(f"slotwise: {self.source}:") + 1:]
            found = filter(None, map(PROBLEM.fullmatch, after))
            problems = [Problem("" if match[1] == "/" else match[1], match[2]) for match in found]
            if problems:
                raise self._located(problems)


class Star(Experiment):
    """One core and its edges; arguments as in `builders.star`."""

    def __init__(self, edges: int = 4, hosts_per_edge: int | list[int] = 2, **options):
        super().__init__(builders.star(edges, hosts_per_edge, **options))


def _caller() -> str:
    """File and line of the caller outside this package."""
    frame = sys._getframe(1)  # pylint: disable=protected-access
    while frame.f_back and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Changes when the file does: a report that was there before is not this run's."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _read(file: Path) -> dict | None:
    """A report; None if the run could not write all of it."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None
