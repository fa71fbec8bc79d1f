# SPDX-License-Identifier: Apache-2.0
"""Networks of any shape: routers, a star, links, groups of hosts, flows, and what happens to links."""
from __future__ import annotations

from typing import Self

from slotwise import builders, scenario
from slotwise.errors import InvalidArgument, UnknownArgument
from slotwise.parts import Parts

PACKETS = 100
"""What waits for a link at most unless given, packets."""
STAR_KEYS = ("frame", "cores", "edges", "queues")
"""What a star beside routers has of its own."""


class Network(Parts):
    """Routers, and a star if wanted, and what joins them. Rates are in bit/s and count IP bytes, delays in ns, other times in s. `tcp`, `udp`
    and `web` are flows over the whole run; what hosts of edges do in a phase is `traffic` and `file`."""

    NEEDED = ("routers", "a star; expected a network with routers")

    def __init__(
        self, name: str = "network", *, seconds: float = 5, seed: int = 1, packet_bytes: int = 1000, sample_ms: int | None = None,
    ):
        """A network without nodes. `seconds` is the length of the run unless it has phases, `packet_bytes` are those of a full IP packet,
        `sample_ms` is the period of measurement: 100 unless given."""
        base = {"version": 1, "name": name, "seed": seed, "duration_ms": builders.ms(seconds), "packet_bytes": packet_bytes}
        base |= {} if sample_ms is None else {"sample_ms": sample_ms}
        super().__init__(base | {"routers": [], "links": [], "hosts": [], "flows": []})

    def star(self, edges: int = 4, hosts_per_edge: int | list[int] = 2, **options) -> Self:
        """Puts a star beside the routers; arguments as in `builders.star`, without `name` and `seed`. Its edges are nodes `edge0` ...: `link`
        joins routers to them, and their hosts are ends of flows, `edgeN` or `hE_I`. What routers send must fit into its `mtu`."""
        if self._has_star():
            raise InvalidArgument(f"{self.source} has a star already")
        for option in ("name", "seed"):
            if option in options:
                raise InvalidArgument(f"{option}: {self.source} has its own already; expected none for its star")
        made = builders.star(edges, hosts_per_edge, **options)
        for key in STAR_KEYS:
            self._set(key, made[key])
        given = {key: value for key, value in made["controller"].items() if key in options}
        self._set("controller", made["controller"] | self.scenario.get("controller", {}) | given)
        # What is said of a group stays where that was added.
        for pointer in [each for each in self._places if each.startswith("/hosts/")]:
            self._places[pointer.replace("/hosts/", "/hosts/groups/", 1)] = self._places.pop(pointer)
        return self._set("hosts", {**made["hosts"], "groups": self.scenario["hosts"]})

    def node(self, *names: str) -> Self:
        """Adds routers."""
        for name in names:
            if name in self.scenario["routers"]:
                raise InvalidArgument(f"{self.source} has a node '{name}' already")
            self._append("routers", name)
        return self

    def link(
        self, start: str, end: str, *, rate_bps: int, delay_ns: int, buffer_packets: int | None = None, buffer_bytes: int | None = None,
        xcp_bps: int | None = None, both_ways: bool = True,
    ) -> Self:
        """Joins two nodes: links `START-END` and, unless `both_ways` is false, `END-START`. `xcp_bps` is what XCP reckons with at their
        outputs; None for no XCP. Raises UnknownName."""
        for source, destination in [(start, end), (end, start)][: 2 if both_ways else 1]:
            entry = {"name": f"{source}-{destination}", "from": self._node(source), "to": self._node(destination), "rate_bps": rate_bps,
                     "delay_ns": delay_ns, "buffer": _buffer(buffer_packets, buffer_bytes)}
            # Edges have XCP before their fibres only.
            has_xcp = xcp_bps is not None and source in self.scenario["routers"]
            self._append("links", entry | ({"xcp_bps": xcp_bps} if has_xcp else {}))
        return self

    def hosts(
        self, name: str, node: str, count: int = 1, *, rate_bps: int = 1_000_000_000, delay_ns: int = 1_000, down_delay_ns: int | None = None,
        buffer_packets: int | None = None, buffer_bytes: int | None = None,
    ) -> Self:
        """A group of `count` hosts at a node, each on a link of its own; `down_delay_ns` is that towards them, if another one. Raises
        UnknownName."""
        down_delay_ns = delay_ns if down_delay_ns is None else down_delay_ns
        return self._append("hosts/groups" if self._has_star() else "hosts", {
            "name": name, "count": count, "router": self._known("node", node, self.scenario["routers"]), "rate_bps": rate_bps, "up_delay_ns": delay_ns,
            "down_delay_ns": down_delay_ns, "buffer": _buffer(buffer_packets, buffer_bytes),
        })

    def tcp(
        self, source: str, destination: str, *, transport: str | None = None, sack: bool | None = None, size_bytes: int | None = None, **when,
    ) -> Self:
        """A stream from each host of a group to the host of the same number in another, of `size_bytes` or until the end. `when`, of
        every kind of flow: `name`; `start_s`, the earliest start; `spread_s`, within which they start by seed. Raises UnknownName."""
        return self._flow(source, destination, when, {"transport": transport, "sack": sack, "bytes": size_bytes})

    def udp(self, source: str, destination: str, rate_bps: int, process: str = "constant", *, name: str | None = None,
            start_s: float | None = None, spread_s: float | None = None, **bursts) -> Self:
        """Datagrams in full packets; `process` and `bursts` as in `Experiment.udp`. Raises UnknownName."""
        when = {"name": name, "start_s": start_s, "spread_s": spread_s}
        return self._flow(source, destination, when, {"udp": {"rate_bps": rate_bps, "process": process, **bursts}})

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, *, transport: str | None = None, sack: bool | None = None,
            name: str | None = None, start_s: float | None = None, spread_s: float | None = None, **pages) -> Self:
        """Users at the receivers who fetch pages; options `users`, `shape`, `max_bytes`. Raises UnknownName."""
        when = {"name": name, "start_s": start_s, "spread_s": spread_s}
        return self._flow(source, destination, when, {
            "transport": transport, "sack": sack, "web": {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **pages}})

    def link_change(self, at_s: float, start: str, end: str, *, every_s: float | None = None, times: int | None = None, **change) -> Self:
        """Changes the link from `start` to `end`, at one time or `times` times: `rate_bps`, `delay_ns`, `xcp_bps`, `up`. Raises UnknownName."""
        known = [link["name"] for link in self.scenario["links"]]
        return self._change(at_s, {"link": self._known("link", f"{start}-{end}", known)}, every_s, times, change)

    def hosts_change(self, at_s: float, hosts: str, *, every_s: float | None = None, times: int | None = None, **change) -> Self:
        """Changes the links of a group of hosts: `up_delay_ns`, `down_delay_ns`. Raises UnknownName."""
        return self._change(at_s, {"hosts": self._group(hosts)}, every_s, times, change)

    def controller(self, **options) -> Self:
        """Adds to what the controller is told: `metric` of paths, hops or delay; `control_latency_ns`; with a star `xcp_bps`."""
        return self._set("controller", self.scenario.get("controller", {}) | options)

    def _node(self, name: str) -> str:
        return self._known("node", name, [*self.scenario["routers"], *self._edges()])

    def _group(self, name: str) -> str:
        return self._known("group of hosts", name, [group["name"] for group in scenario.groups(self.scenario)])

    def _party(self, name: str) -> str:
        of_edges = [*self._edges(), *(host.name for host in scenario.hosts(self.scenario))]
        known = [group["name"] for group in scenario.groups(self.scenario)]
        return self._known("group of hosts", name, [*known, *of_edges])

    def _flow(self, source: str, destination: str, when: dict, what: dict) -> Self:
        known = ["name", "start_s", "spread_s"]
        for option in when:
            if option not in known:
                raise UnknownArgument("option", option, known, "a flow")
        entry = {"name": when.get("name") or f"flow{len(self.scenario['flows'])}", "from": self._party(source), "to": self._party(destination)}
        times = {f"{key}_ms": builders.ms(when[f"{key}_s"]) for key in ("start", "spread") if when.get(f"{key}_s") is not None}
        return self._append("flows", entry | {key: value for key, value in what.items() if value is not None} | times)

    def _change(self, at_s: float, what: dict, every_s: float | None, times: int | None, change: dict) -> Self:
        again = {} if every_s is None else {"every_ms": builders.ms(every_s)}
        again |= {} if times is None else {"times": times}
        return self._append("changes", {"at_ms": builders.ms(at_s), **again, **what, **change})


def _buffer(packets: int | None, octets: int | None) -> dict:
    if packets is not None and octets is not None:
        raise InvalidArgument("buffer_packets, buffer_bytes: expected one of them")
    if octets is not None:
        return {"bytes": octets}
    return {"packets": PACKETS if packets is None else packets}
