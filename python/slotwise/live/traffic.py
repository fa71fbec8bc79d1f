# SPDX-License-Identifier: Apache-2.0
"""Expansion of traffic entries into flows, without side effects, by the rule of the engine's `scenario` crate."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from slotwise.scenario import HostId, RoutedHost, hosts, routed_hosts

DEFAULT_JITTER_MS = 10
IP_AND_UDP_BYTES = 28


class Flow(NamedTuple):
    """One flow from host to host."""

    phase: int
    entry: int
    """Index of the traffic entry in its phase."""
    source: HostId | RoutedHost
    destination: HostId | RoutedHost
    options: dict
    """`kind` of the entry and its options."""
    start_ms: int = 0
    """Start in ms, from the start of the phase or the run."""
    name: str | None = None
    """Name `GROUP.i` of a flow over the whole run; its phase is the last one, its entry an index of `flows`."""

    @property
    def kind(self) -> str:
        return self.options["kind"]


def flows(scenario: dict, phase: int) -> list[Flow]:
    """Flows of a phase, ordered by entry, source and destination."""
    of_phase = scenario["phases"][phase]["flows"] if "phases" in scenario else []
    return [
        Flow(phase, number, source, destination, _phase_options(entry))
        for number, entry in enumerate(of_phase)
        for source, destination in _host_pairs(scenario, entry["from"], entry["to"])
    ]


def phase_count(scenario: dict) -> int:
    """Number of phases of a scenario; 1 for a file without phases."""
    return len(scenario.get("phases", [None]))


def run_flows(scenario: dict, run_ms: int) -> list[Flow]:
    """Flows over a whole run of `run_ms`; their starts are scaled from the duration in the file. Flow i of a group of n starts at the
    start of the i-th part of the group's `start_jitter_ms`."""
    found = []
    last = phase_count(scenario) - 1
    for number, entry in enumerate(scenario.get("flows", [])):
        sources, destinations = _party(scenario, entry["from"]), _party(scenario, entry["to"])
        for index, ends in enumerate(zip(sources, destinations, strict=True)):
            start_ms = entry.get("start_ms", 0) + index * entry.get("start_jitter_ms", DEFAULT_JITTER_MS) // len(
                sources
            )
            start_ms = start_ms * run_ms // duration_ms(scenario)
            found.append(
                Flow(last, number, *ends, _iperf_options(scenario, entry), start_ms, f"{entry['name']}.{index}")
            )
    return found


def duration_ms(scenario: dict) -> int:
    """Duration of a run in the file in ms."""
    return (
        sum(phase["duration_ms"] for phase in scenario["phases"]) if "phases" in scenario else scenario["duration_ms"]
    )


def _party(scenario: dict, name: str) -> list[HostId] | list[RoutedHost]:
    """Hosts of a group or of an edge, or a single host."""
    of_group = [host for host in routed_hosts(scenario) if host.name.rsplit(".", 1)[0] == name]
    return of_group or _hosts_of(scenario, name)


KINDS = ("udp", "file", "web")
"""Keys of a phase's flow that replace the TCP stream."""


def _phase_options(entry: dict) -> dict:
    """Kind of a phase's flow with its options."""
    kind = next((kind for kind in KINDS if kind in entry), "tcp")
    common = {key: value for key, value in entry.items() if key in ("from", "to", "transport")}
    return {"kind": kind, **common, **entry.get(kind, {})}


def _iperf_options(scenario: dict, entry: dict) -> dict:
    """Options of a flow over the whole run for iperf3."""
    if "udp" in entry:
        payload_bytes = scenario["packet_bytes"] - IP_AND_UDP_BYTES
        # The rate counts IP bytes.
        rate_bps = entry["udp"]["rate_bps"] * payload_bytes // scenario["packet_bytes"]
        return {"kind": "udp", "rate_bps": rate_bps, "payload_bytes": payload_bytes}
    sized = {"bytes": entry["bytes"]} if "bytes" in entry else {}
    return {"kind": "tcp", "transport": entry.get("transport", "cubic"), **sized}


def _host_pairs(scenario: dict, source: str, destination: str) -> Iterator[tuple[HostId, HostId]]:
    """Host pairs: every source sends to one host of every destination edge, with its index modulo the number of hosts there. Hosts of one
    edge exchange traffic only if both ends are single hosts."""
    targets = _hosts_of(scenario, destination)
    if _is_host(source) and _is_host(destination):
        yield from ((one, other) for one in _hosts_of(scenario, source) for other in targets)
        return
    by_edge: dict[int, list[HostId]] = {}
    for target in targets:
        by_edge.setdefault(target.edge, []).append(target)
    for host in _hosts_of(scenario, source):
        for edge, there in by_edge.items():
            if edge != host.edge:
                yield host, there[host.index % len(there)]


def _hosts_of(scenario: dict, endpoint: str) -> list[HostId]:
    everyone = hosts(scenario)
    if endpoint == "all":
        return everyone
    if _is_host(endpoint):
        return [host for host in everyone if host.name == endpoint]
    return [host for host in everyone if f"edge{host.edge}" == endpoint]


def _is_host(endpoint: str) -> bool:
    return re.fullmatch(r"h\d+_\d+", endpoint) is not None


def kernel_congestion_control(entry: dict) -> str:
    """Linux name of the `transport` of a `tcp` or `file` entry. Linux's reno is NewReno; it has neither an older one nor XCP."""
    return {"cubic": "cubic", "highspeed": "highspeed", "newreno": "reno", "reno": "reno"}[
        entry.get("transport", "cubic")
    ]
