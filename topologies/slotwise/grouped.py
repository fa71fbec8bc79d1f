# SPDX-License-Identifier: Apache-2.0
"""What networks of routers, rings and optical packet switches have in common: groups of hosts, flows between them over the whole run, and changes of their links."""

from typing import ClassVar, Self

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
        gtp: dict | None = None,
    ) -> Self:
        """A group of `count` hosts at a node, each on a link of its own; `down_delay_ns` is that towards them, if another one; `gtp`, how
        their GTP shares the link: `capacity_bps`, `interval_ms`, `alpha`, `beta` and so on. Raises UnknownName."""
        down_delay_ns = delay_ns if down_delay_ns is None else down_delay_ns
        return self._append(
            "hosts/groups" if self._has_star() else "hosts",
            {
                "name": name,
                "count": count,
                self.OF_GROUP: self._known("node", node, self._nodes()),
                "rate_bps": rate_bps,
                "up_delay_ns": delay_ns,
                "down_delay_ns": down_delay_ns,
                "buffer": buffer(buffer_packets, buffer_bytes),
                **({} if gtp is None else {"gtp": gtp}),
            },
        )

    def tcp(self, source: str, destination: str, *, transport: str | None = None, **options) -> Self:
        """A stream from each host of a group to the host of the same number in another. `options` are the keys of a scenario's `flows`
        (docs/scenario.md), as `sack`, `tcp={"paced": True}`, `dscp`, `measure` and `name`; times may be in s as well, as `start_s` for
        `start_ms`, and `size_bytes` is `bytes`: until the end unless given. Raises UnknownName, and UnknownArgument."""
        return self._flow(source, destination, None, {"transport": transport, **options})

    def udp(self, source: str, destination: str, rate_bps: int, process: str = "constant", **options) -> Self:
        """Datagrams in full packets; `process` and options of bursts as in `Experiment.udp`, others as in `tcp`. Raises UnknownName, and
        UnknownArgument."""
        return self._flow(source, destination, "udp", {"rate_bps": rate_bps, "process": process, **options})

    def gtp(self, source: str, destination: str, **options) -> Self:
        """A session of GTP of `size_bytes` or until the end, whose source can send at most `limit_bps`; `alpha` and `beta` in place of its
        hosts'; `begin_bps` is what both hosts are taken to have granted it for ever; other options as in `tcp`. Raises UnknownName, and
        UnknownArgument."""
        return self._flow(source, destination, "gtp", options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> Self:
        """Users at the receivers who fetch pages; options `users`, `open`, `sizes`, `shape`, `max_bytes`, others as in `tcp`. Raises UnknownName, and
        UnknownArgument."""
        return self._flow(
            source, destination, "web", {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **options}
        )

    def hosts_change(
        self, at_s: float, hosts: str, *, every_s: float | None = None, times: int | None = None, **change
    ) -> Self:
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

    def _flow(self, source: str, destination: str, kind: str | None, options: dict) -> Self:
        """`kind` as in `scenario.flow_keys`. Options that are None are not given."""
        of_flow, of_kind = scenario.flow_keys(kind)
        entry = {
            "name": f"flow{len(self.scenario['flows'])}",
            "from": self._party(source),
            "to": self._party(destination),
        }
        inner = {}
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
            (inner if key in of_kind else entry)[key] = (
                builders.ms(value) if option != key and key.endswith("_ms") else value
            )
        return self._append("flows", entry | ({kind: inner} if kind else {}))

    def _change(self, at_s: float, what: dict, every_s: float | None, times: int | None, change: dict) -> Self:
        again = {} if every_s is None else {"every_ms": builders.ms(every_s)}
        again |= {} if times is None else {"times": times}
        return self._append("changes", {"at_ms": builders.ms(at_s), **again, **what, **change})


class Spanned(Grouped):
    """One whose fibres are spans: a cut takes all that a fibre carries, both ways."""

    def span_change(
        self, at_s: float, start: str, end: str, up: bool, *, every_s: float | None = None, times: int | None = None
    ) -> Self:
        """Cuts the span from a station to the next one, or between two switches or an edge and its switch, or mends it, both ways, at one
        time or `times` times. Raises UnknownName."""
        span = self._known("span", self._span(start, end), scenario.fibre_names(self.scenario))
        return self._change(at_s, {"span": span}, every_s, times, {"up": up})

    def _span(self, start: str, end: str) -> str:
        """The name of the span between them."""
        return f"{start}-{end}"


def _own_name(key: str) -> str:
    """What an option of a flow is called here: times are in s, and sizes say of what."""
    return key.removesuffix("_ms") + "_s" if key.endswith("_ms") else {"bytes": "size_bytes"}.get(key, key)


def buffer(packets: int | None, octets: int | None) -> dict:
    if packets is not None and octets is not None:
        raise InvalidArgument("buffer_packets, buffer_bytes: expected one of them")
    if octets is not None:
        return {"bytes": octets}
    return {"packets": PACKETS if packets is None else packets}
