# SPDX-License-Identifier: Apache-2.0
"""What networks of routers, rings and optical packet switches have in common: groups of hosts, flows between them over the whole run, and changes of their links."""
from typing import ClassVar, Iterable, Self

from slotwise import builders, scenario
from slotwise.errors import InvalidArgument, UnknownArgument
from slotwise.parts import Parts

PACKETS = 100
"""What waits for a link at most unless given, packets."""


class Grouped(Parts):
    """A network whose hosts come in groups."""

    OF_GROUP: ClassVar[str]
    """The key by which a group names its node."""

    def _nodes(self) -> list[str]:
        """Names of the nodes that may have hosts."""
        raise NotImplementedError

    def hosts(
        self, name: str, node: str, count: int = 1, *, rate_bps: int = 1_000_000_000, delay_ns: int = 1_000, down_delay_ns: int | None = None,
        buffer_packets: int | None = None, buffer_bytes: int | None = None, gtp: dict | None = None,
    ) -> Self:
        """A group of `count` hosts at a node, each on a link of its own; `down_delay_ns` is that towards them, if another one; `gtp`, how
        their GTP shares the link: `capacity_bps`, `interval_ms`, `alpha`, `beta` and so on. Raises UnknownName."""
        down_delay_ns = delay_ns if down_delay_ns is None else down_delay_ns
        return self._append("hosts/groups" if self._has_star() else "hosts", {
            "name": name, "count": count, self.OF_GROUP: self._known("node", node, self._nodes()), "rate_bps": rate_bps, "up_delay_ns": delay_ns,
            "down_delay_ns": down_delay_ns, "buffer": buffer(buffer_packets, buffer_bytes), **({} if gtp is None else {"gtp": gtp}),
        })

    def tcp(
        self, source: str, destination: str, *, transport: str | None = None, sack: bool | None = None, size_bytes: int | None = None, **when,
    ) -> Self:
        """A stream from each host of a group to the host of the same number in another, of `size_bytes` or until the end. `when`, of
        every kind of flow: `name`; `start_s`, the earliest start; `spread_s`, within which they start by seed; of `tcp` and `gtp` `stop_s`, when
        they send nothing new any more. Raises UnknownName."""
        return self._flow(source, destination, when, {"transport": transport, "sack": sack, "bytes": size_bytes}, ["transport", "sack", "size_bytes"])

    def udp(self, source: str, destination: str, rate_bps: int, process: str = "constant", *, name: str | None = None,
            start_s: float | None = None, spread_s: float | None = None, **bursts) -> Self:
        """Datagrams in full packets; `process` and `bursts` as in `Experiment.udp`. Raises UnknownName."""
        when = {"name": name, "start_s": start_s, "spread_s": spread_s}
        return self._flow(source, destination, when, {"udp": {"rate_bps": rate_bps, "process": process, **bursts}})

    def gtp(self, source: str, destination: str, *, size_bytes: int | None = None, limit_bps: int | None = None, alpha: float | None = None,
            beta: float | None = None, begin_bps: int | None = None, **when) -> Self:
        """A session of GTP of `size_bytes` or until the end, whose source can send at most `limit_bps`; `alpha` and `beta` in place of its
        hosts'; `begin_bps` is what both hosts are taken to have granted it for ever; `when` as in `tcp`. Raises UnknownName."""
        asked = {"bytes": size_bytes, "limit_bps": limit_bps, "alpha": alpha, "beta": beta, "begin_bps": begin_bps}
        options = ["size_bytes", *list(asked)[1:]]
        return self._flow(source, destination, when, {"gtp": {key: value for key, value in asked.items() if value is not None}}, options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, *, transport: str | None = None, sack: bool | None = None,
            name: str | None = None, start_s: float | None = None, spread_s: float | None = None, **pages) -> Self:
        """Users at the receivers who fetch pages; options `users`, `shape`, `max_bytes`. Raises UnknownName."""
        when = {"name": name, "start_s": start_s, "spread_s": spread_s}
        return self._flow(source, destination, when, {
            "transport": transport, "sack": sack, "web": {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **pages}})

    def hosts_change(self, at_s: float, hosts: str, *, every_s: float | None = None, times: int | None = None, **change) -> Self:
        """Changes the links of a group of hosts: `up_delay_ns`, `down_delay_ns`. Raises UnknownName."""
        return self._change(at_s, {"hosts": self._group(hosts)}, every_s, times, change)

    def controller(self, **options) -> Self:
        """Adds to what the controller is told: `metric` of paths, hops or delay; `control_latency_ns`; with a star `xcp_bps`."""
        return self._set("controller", self.scenario.get("controller", {}) | options)

    def _group(self, name: str) -> str:
        return self._known("group of hosts", name, [group["name"] for group in scenario.groups(self.scenario)])

    def _party(self, name: str) -> str:
        of_edges = [*self._edges(), *(host.name for host in scenario.hosts(self.scenario))]
        known = [group["name"] for group in scenario.groups(self.scenario)]
        return self._known("group of hosts", name, [*known, *of_edges])

    def _flow(self, source: str, destination: str, when: dict, what: dict, others: Iterable[str] = ()) -> Self:
        """`others` are the options of this kind of flow besides those of `when`."""
        known = ["name", "start_s", "spread_s", "stop_s"]
        for option in when:
            if option not in known:
                raise UnknownArgument("option", option, [*others, *known], "a flow")
        entry = {"name": when.get("name") or f"flow{len(self.scenario['flows'])}", "from": self._party(source), "to": self._party(destination)}
        times = {f"{key}_ms": builders.ms(when[f"{key}_s"]) for key in ("start", "spread", "stop") if when.get(f"{key}_s") is not None}
        return self._append("flows", entry | {key: value for key, value in what.items() if value is not None} | times)

    def _change(self, at_s: float, what: dict, every_s: float | None, times: int | None, change: dict) -> Self:
        again = {} if every_s is None else {"every_ms": builders.ms(every_s)}
        again |= {} if times is None else {"times": times}
        return self._append("changes", {"at_ms": builders.ms(at_s), **again, **what, **change})


class Spanned(Grouped):
    """One whose fibres are spans: a cut takes all that a fibre carries, both ways."""

    def span_change(self, at_s: float, start: str, end: str, up: bool, *, every_s: float | None = None, times: int | None = None) -> Self:
        """Cuts the span from a station to the next one, or between two switches or an edge and its switch, or mends it, both ways, at one
        time or `times` times. Raises UnknownName."""
        span = self._known("span", self._span(start, end), scenario.fibre_names(self.scenario))
        return self._change(at_s, {"span": span}, every_s, times, {"up": up})

    def _span(self, start: str, end: str) -> str:
        """The name of the span between them."""
        return f"{start}-{end}"


def buffer(packets: int | None, octets: int | None) -> dict:
    if packets is not None and octets is not None:
        raise InvalidArgument("buffer_packets, buffer_bytes: expected one of them")
    if octets is not None:
        return {"bytes": octets}
    return {"packets": PACKETS if packets is None else packets}
