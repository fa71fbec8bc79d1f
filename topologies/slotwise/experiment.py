# SPDX-License-Identifier: Apache-2.0
"""The short API: describe stars and their traffic, run them, look at the report."""
import re
from pathlib import Path

from slotwise import builders, scenario
from slotwise.document import Document
from slotwise.errors import UnknownEndpoint, UnknownFibre
from slotwise.scenario import Problem, ScenarioError

DEFAULT_PHASE_S = 5


class Experiment(Document):
    """A scenario in the making. Methods that add something return the experiment, so that they chain."""

    @classmethod
    def load(cls, path: str | Path) -> "Experiment":
        """The experiment of a scenario file. Raises ScenarioError with every problem, or OSError."""
        document = scenario.load(path)
        if "cores" not in document:
            raise ScenarioError(str(path), [Problem("/cores", "a network of routers; expected a star")])
        return Experiment(document, str(path))._of_file(Path(path))

    def phase(self, name: str, seconds: float = DEFAULT_PHASE_S) -> "Experiment":
        """Starts a phase; the traffic added next belongs to it."""
        return self._append("phases", {"name": name, "duration_ms": round(seconds * 1000), "traffic": []})

    def tcp(self, source: str = "all", destination: str = "all", **options) -> "Experiment":
        """Bulk TCP; options `rate_bps` of each stream, `streams` of each flow, and `transport`. Raises UnknownEndpoint."""
        return self._traffic("tcp", source, destination, options)

    def udp(
        self, source: str, destination: str, rate_bps: int, payload_bytes: int, process: str = "constant", **options,
    ) -> "Experiment":
        """UDP datagrams, `process` constant, poisson, or on-off-pareto with `mean_on_ns`, `mean_off_ns`, `shape`.
        Raises UnknownEndpoint."""
        options = {"rate_bps": rate_bps, "payload_bytes": payload_bytes, "process": process, **options}
        return self._traffic("udp", source, destination, options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> "Experiment":
        """Users at `destination` who fetch pages; options `users`, `shape`, `max_bytes`, `transport`. Raises
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

    def _own_options(self, name: str) -> list[str]:
        return ["scheduler", "sample_frames"] if name == "simulate" else ["scheduler"]

    def _prepared(self, own: dict) -> tuple[dict, dict]:
        scheduler, extra = own.get("scheduler"), {"--sample-frames": own.get("sample_frames")}
        if scheduler is None:
            return self.scenario, extra
        return {**self.scenario, "controller": {**self.scenario["controller"], "scheduler": scheduler}}, extra

    def _placed(self, document: dict) -> dict:
        """A document that may be anywhere: with its own schedulers by their whole paths."""
        if "schedulers" not in document:
            return document
        own = {}
        for name, entry in document["schedulers"].items():
            key = "jar" if "jar" in entry else "directory"
            own[name] = {**entry, key: str(self._directory / entry.get(key, ""))}
        return {**document, "schedulers": own}


class Star(Experiment):
    """One core and its edges; arguments as in `builders.star`."""

    def __init__(self, edges: int = 4, hosts_per_edge: int | list[int] = 2, **options):
        super().__init__(builders.star(edges, hosts_per_edge, **options))
