# SPDX-License-Identifier: Apache-2.0
"""Networks of any topology: routers, a star, links, host groups, flows, and changes of links."""

from __future__ import annotations

from typing import Self

from slotwise import builders
from slotwise.errors import InvalidArgument
from slotwise.grouped import Grouped, buffer
from slotwise.scenario import NO_FLOWS_IN_A_STAR, Problem

STAR_KEYS = ("frame", "cores", "edges", "queues")
"""Sections of a star in a scenario with routers."""


class Network(Grouped):
    """Routers, optionally a star, and links between them. Rates are in bit/s and count IP bytes, delays in ns, other times in s. `tcp`, `udp`
    and `web` add flows over the whole run, `traffic` and `file` add traffic of edges' hosts to a phase."""

    NEEDED = ("routers", "missing; expected a network with routers")

    def __init__(
        self,
        name: str = "network",
        *,
        seconds: float = 5,
        seed: int = 1,
        packet_bytes: int = 1000,
        sample_ms: int | None = None,
    ):
        """Network without nodes. `seconds`: duration of a run without phases. `packet_bytes`: size of a full IP packet. `sample_ms`: sampling
        period (default: 100)."""
        if not isinstance(name, str):
            raise InvalidArgument(f"name: expected a string, got {builders.given(name)}")
        base = {
            "version": 1,
            "name": name,
            "seed": seed,
            "duration_ms": builders.ms(seconds),
            "packet_bytes": packet_bytes,
        }
        base |= {} if sample_ms is None else {"sample_ms": sample_ms}
        super().__init__(base | {"routers": [], "links": [], "hosts": [], "flows": []})

    def star(self, edges: int = 4, hosts_per_edge: int | list[int] = 2, **options) -> Self:
        """Adds a star to the routers; arguments as in `builders.star`, without `name` and `seed`. Its edges are nodes `edge0` ...: `link`
        connects routers to them, and their hosts are endpoints of flows (`edgeN` or `hE_I`). Packets of routers must fit into its `mtu`."""
        if self._has_star():
            raise InvalidArgument(f"{self.source} already has a star; expected one at most")
        for option in ("name", "seed"):
            if option in options:
                raise InvalidArgument(f"{option}: {self.source} already has one; expected none for the star")
        made = builders.star(edges, hosts_per_edge, **options)
        for key in STAR_KEYS:
            self._set(key, made[key])
        given = {key: value for key, value in made["controller"].items() if key in options}
        self._set("controller", made["controller"] | self.scenario.get("controller", {}) | given)
        # What is said of a group stays where that was added.
        for pointer in [each for each in self._places if each.startswith("/hosts/")]:
            self._places[pointer.replace("/hosts/", "/hosts/groups/", 1)] = self._places.pop(pointer)
        return self._set("hosts", {**made["hosts"], "groups": self.scenario["hosts"]})

    def _checked(self, document: dict) -> dict:
        if self._has_star() and not document["routers"]:
            reason = f"no routers: {NO_FLOWS_IN_A_STAR}; for a star without 'flows' use slotwise.Star"
            raise self._located([Problem("/routers", reason)])
        return super()._checked(document)

    def node(self, *names: str) -> Self:
        """Adds routers."""
        for name in names:
            if name in self.scenario["routers"]:
                raise InvalidArgument(f"{self.source} already has a node '{name}'; expected another name")
            self._append("routers", name)
        return self

    def link(
        self,
        start: str,
        end: str,
        *,
        rate_bps: int,
        delay_ns: int,
        buffer_packets: int | None = None,
        buffer_bytes: int | None = None,
        xcp_capacity_bps: int | None = None,
        loss: float = 0,
        both_ways: bool = True,
    ) -> Self:
        """Connects two nodes by links `START-END` and, unless `both_ways` is false, `END-START`. `xcp_capacity_bps`: XCP capacity of their outputs;
        None: no XCP. `loss`: probability of losing a packet at the end of a link. Raises UnknownName."""
        for source, destination in [(start, end), (end, start)][: 2 if both_ways else 1]:
            entry = {
                "name": f"{source}-{destination}",
                "from": self._node(source),
                "to": self._node(destination),
                "rate_bps": rate_bps,
                "delay_ns": delay_ns,
                "buffer": buffer(buffer_packets, buffer_bytes),
            } | ({"loss": loss} if loss else {})
            # Edges have XCP before their fibres only.
            has_xcp = xcp_capacity_bps is not None and source in self.scenario["routers"]
            self._append("links", entry | ({"xcp_capacity_bps": xcp_capacity_bps} if has_xcp else {}))
        return self

    def link_change(
        self, at_s: float, start: str, end: str, *, every_s: float | None = None, times: int | None = None, **change
    ) -> Self:
        """Changes the link from `start` to `end`, once or `times` times: `rate_bps`, `delay_ns`, `xcp_capacity_bps`, `up`. Raises UnknownName."""
        known = [link["name"] for link in self.scenario["links"]]
        return self._change(at_s, {"link": self._known("link", f"{start}-{end}", known)}, every_s, times, change)

    def _node(self, name: str) -> str:
        return self._known("node", name, [*self.scenario["routers"], *self._edges()])

    def _nodes(self) -> list[str]:
        return self.scenario["routers"]
