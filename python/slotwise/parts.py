# SPDX-License-Identifier: Apache-2.0
"""Parts common to all scenarios (phases, traffic, faults), and those of stars, alone or with routers."""

import re
from typing import Self

from slotwise import builders, scenario
from slotwise.errors import InvalidArgument, UnknownEndpoint, UnknownFibre
from slotwise.network import Document

DEFAULT_PHASE_S = 5
FAULTS_BY_NODES = {
    "cores": ("edge-restart", "core-down", "clock-step"),
    "routers": ("router-restart",),
    "ring": ("station-restart",),
    "ops": ("switch-restart", "opsedge-restart"),
}
"""Fault types that require a section of the scenario."""


class Parts(Document):
    """Methods that add parts to a scenario."""

    def phase(self, name: str, seconds: float = DEFAULT_PHASE_S) -> Self:
        """Starts a phase; traffic added next belongs to it. The run is as long as its phases."""
        self.scenario.pop("duration_ms", None)
        return self._append("phases", {"name": name, "duration_ms": builders.ms(seconds), "flows": []})

    def traffic(self, kind: str, source: str = "all", destination: str = "all", **options) -> Self:
        """Adds traffic between hosts of edges to the phase; endpoints are "all", an edge, or a host. `kind` and `options` as in scenario
        files. Raises UnknownEndpoint, and InvalidArgument without a star."""
        self._need_star("traffic of phases")
        for endpoint in (source, destination):
            self._check_endpoint(endpoint)
        if not self.scenario.get("phases"):
            self.phase("main", self.scenario.get("duration_ms", DEFAULT_PHASE_S * 1000) / 1000)
        phase = len(self.scenario["phases"]) - 1
        entry = {"from": source, "to": destination}
        if "transport" in options:
            entry["transport"] = options.pop("transport")
        # A stream without settings needs no key.
        entry |= {kind: options} if options or kind != "tcp" else {}
        return self._append(f"phases/{phase}/flows", entry)

    def file(self, source: str, destination: str, size_bytes: int) -> Self:
        """Adds one file over HTTP from host to host (`h0_0`), compared by SHA-256. Raises UnknownEndpoint, and InvalidArgument without a
        star."""
        return self.traffic("file", source, destination, bytes=size_bytes)

    def fibre_change(self, at_s: float, edge: int, core: int = 0, **change) -> Self:
        """Changes a fibre `at_s` after the start: `rate_bps`, `delay_ns`, `loss`, `attenuation_mdb`, `up`. Raises UnknownFibre."""
        fibres = {(fibre["core"], each["id"]) for each in self._edges().values() for fibre in each["fibres"]}
        if (core, edge) not in fibres:
            names = (f"edge{e}-core{c}" for c, e in sorted(fibres))
            raise UnknownFibre("fibre", f"edge{edge}-core{core}", names, self.source)
        return self._append("changes", {"at_ms": builders.ms(at_s), "core": core, "edge": edge, **change})

    def scheduler_change(self, at_s: float, scheduler: str | dict) -> Self:
        """Changes the scheduler at a time, by name or as `{"name": ..., "settings": {...}}`. Raises InvalidArgument without a star."""
        self._need_star("a scheduler")
        return self._append("changes", {"at_ms": builders.ms(at_s), "scheduler": scheduler})

    def clocks(self, **options) -> Self:
        """Sets free-running clocks of the edges: arguments of `builders.clocks`. Raises InvalidArgument without a star."""
        self._need_star("clocks")
        return self._set("clocks", builders.clocks(**options))

    def optics(self, attenuation_mdb: int | dict[int, int] = 0, **options) -> Self:
        """Sets transmitters and receivers: arguments of `builders.optics`. `attenuation_mdb`: fibre attenuation in dB/1000, one number for
        all, or by edge. Raises UnknownEndpoint, and InvalidArgument without a star."""
        self._need_star("optics")
        if isinstance(attenuation_mdb, dict):
            for edge in attenuation_mdb:
                self._check_endpoint(f"edge{edge}")
        made = builders.optics(**options)
        for edge in self.scenario["edges"]:
            of_edge = attenuation_mdb.get(edge["id"], 0) if isinstance(attenuation_mdb, dict) else attenuation_mdb
            for fibre in edge["fibres"]:
                fibre["attenuation_mdb"] = of_edge
        return self._set("optics", made)

    def fault(self, kind: str, every_s: float, for_s: float | None = None, **options) -> Self:
        """Adds injected faults, drawn from the seed (simulation only; docs/faults.md). Types and options are those of `builders.FAULTS` that
        apply to the scenario's nodes. Raises UnknownName, and UnknownArgument for an option that the type does not have."""
        absent = {each for nodes, kinds in FAULTS_BY_NODES.items() if nodes not in self.scenario for each in kinds}
        self._known("fault type", kind, [each for each in builders.FAULTS if each not in absent])
        given = {name: value for name, value in {"for_s": for_s, **options}.items() if value is not None}
        entry = builders.fault(kind, every_s, **given)
        if "edge" in entry:
            self._known("edge", f"edge{entry['edge']}", list(self._edges()))
        return self._append("faults", entry)

    def _has_star(self) -> bool:
        return "cores" in self.scenario

    def _need_star(self, what: str) -> None:
        if not self._has_star():
            raise InvalidArgument(f"{self.source} has no star; expected one for {what}")

    def _edges(self) -> dict[str, dict]:
        """Edges by name."""
        return {f"edge{edge['id']}": edge for edge in self.scenario.get("edges", [])}

    def _check_endpoint(self, endpoint: str) -> None:
        edges = self._edges()
        names = {host.name for host in scenario.hosts(self.scenario)}
        if endpoint == "all" or endpoint in edges or endpoint in names:
            return
        host = re.fullmatch(r"h(\d+)_\d+", str(endpoint))
        edge = edges.get(f"edge{host[1]}") if host else None
        if edge:
            known = (each.name for each in scenario.hosts({"edges": [edge]}))
            raise UnknownEndpoint("host", endpoint, known, f"edge{edge['id']} of {self.source}")
        raise UnknownEndpoint("edge or host", endpoint, ["all", *edges], self.source)
