# SPDX-License-Identifier: Apache-2.0
"""Common parts of router networks, rings and optical packet switches: host groups, flows over the whole run, and changes of links."""

from typing import Self

from slotwise import builders, scenario
from slotwise.errors import InvalidArgument, UnknownArgument
from slotwise.parts import Parts

PACKETS = 100
"""Default capacity of the queue in front of a link, packets."""


class Grouped(Parts):
    """A network with host groups."""

    def _nodes(self) -> list[str]:
        """Names of the nodes that can have hosts."""
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
        """Adds a group of `count` hosts at a node, each on a separate access link. `down_delay_ns`: delay towards the hosts, if different.
        `gtp`: rate allocation of their GTP sessions (`capacity_bps`, `interval_ms`, `alpha`, `beta` and so on). Raises UnknownName."""
        down_delay_ns = delay_ns if down_delay_ns is None else down_delay_ns
        return self._append(
            "hosts/groups" if self._has_star() else "hosts",
            {
                "name": name,
                "count": count,
                "at": self._known("node", node, self._nodes()),
                "rate_bps": rate_bps,
                "up_delay_ns": delay_ns,
                "down_delay_ns": down_delay_ns,
                "buffer": buffer(buffer_packets, buffer_bytes),
                **({} if gtp is None else {"gtp": gtp}),
            },
        )

    def tcp(self, source: str, destination: str, *, transport: str | None = None, **options) -> Self:
        """Adds a TCP stream from each host of a group to the host with the same number in another. `options`: keys of a scenario's `flows`
        (docs/scenario.md), such as `sack`, `tcp={"paced": True}`, `dscp`, `packet_stats` and `name`; times also in s, such as `start_s` for
        `start_ms`; `size_bytes` for `bytes` (default: until the end of the run). Raises UnknownName, and UnknownArgument."""
        return self._flow(source, destination, None, {"transport": transport, **options})

    def udp(self, source: str, destination: str, rate_bps: int, process: str = "constant", **options) -> Self:
        """Adds UDP datagrams in full packets; `process` and options of on-off sources as in `Experiment.udp`, others as in `tcp`. Raises
        UnknownName, and UnknownArgument."""
        return self._flow(source, destination, "udp", {"rate_bps": rate_bps, "process": process, **options})

    def gtp(self, source: str, destination: str, **options) -> Self:
        """Adds a GTP session of `size_bytes` or until the end of the run. `source_limit_bps`: source limit; `alpha`, `beta`: in place of those of
        the hosts; `initial_rate_bps`: initial rate, as if granted by both hosts; other options as in `tcp`. Raises UnknownName, and
        UnknownArgument."""
        return self._flow(source, destination, "gtp", options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> Self:
        """Adds web users at the receivers that fetch pages; options `users`, `open`, `sizes`, `shape`, `max_bytes`, others as in `tcp`.
        Raises UnknownName, and UnknownArgument."""
        return self._flow(
            source, destination, "web", {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **options}
        )

    def hosts_change(
        self, at_s: float, hosts: str, *, every_s: float | None = None, times: int | None = None, **change
    ) -> Self:
        """Changes the access links of a host group: `up_delay_ns`, `down_delay_ns`. Raises UnknownName."""
        return self._change(at_s, {"hosts": self._group(hosts)}, every_s, times, change)

    def controller(self, **options) -> Self:
        """Sets options of the controller: path `metric` (hops or delay), `control_latency_ns`, and with a star `xcp_capacity_bps`."""
        return self._set("controller", self.scenario.get("controller", {}) | options)

    def _group(self, name: str) -> str:
        return self._known("group of hosts", name, [group["name"] for group in scenario.groups(self.scenario)])

    def _party(self, name: str) -> str:
        of_edges = [*self._edges(), *(host.name for host in scenario.hosts(self.scenario))]
        known = [group["name"] for group in scenario.groups(self.scenario)]
        return self._known("group of hosts", name, [*known, *of_edges])

    def _flow(self, source: str, destination: str, kind: str | None, options: dict) -> Self:
        """Adds a flow; `kind` as in `scenario.flow_keys`. Options that are None are omitted."""
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
    """A network with spans, which go down in both directions at once."""

    def span_change(
        self, at_s: float, start: str, end: str, up: bool, *, every_s: float | None = None, times: int | None = None
    ) -> Self:
        """Takes down or brings up, in both directions, the span from a station to the next one, between two switches, or between an edge and
        its switch; once, or `times` times. Raises UnknownName."""
        span = self._known("span", self._span(start, end), scenario.fibre_names(self.scenario))
        return self._change(at_s, {"span": span}, every_s, times, {"up": up})

    def _span(self, start: str, end: str) -> str:
        """Name of the span between two nodes."""
        return f"{start}-{end}"


def _own_name(key: str) -> str:
    """Python name of a flow's option: times in s, and `size_bytes` for `bytes`."""
    return key.removesuffix("_ms") + "_s" if key.endswith("_ms") else {"bytes": "size_bytes"}.get(key, key)


def buffer(packets: int | None, octets: int | None) -> dict:
    if packets is not None and octets is not None:
        raise InvalidArgument("buffer_packets, buffer_bytes: expected one of them")
    if octets is not None:
        return {"bytes": octets}
    return {"packets": PACKETS if packets is None else packets}
