# SPDX-License-Identifier: Apache-2.0
"""Which flows a phase's traffic entries stand for. Pure; the same rule as the engine's `scenario` crate."""
import re
from typing import Iterator, NamedTuple

from slotwise.scenario import HostId, RoutedHost, hosts, routed_hosts

DEFAULT_SPREAD_MS = 10
IP_AND_UDP_BYTES = 28


class Flow(NamedTuple):
    """One flow from host to host."""

    phase: int
    entry: int
    """Index of the traffic entry in its phase."""
    source: HostId | RoutedHost
    destination: HostId | RoutedHost
    options: dict
    """The traffic entry: `kind` and what belongs to it."""
    start_ms: int = 0
    """When it starts, from the start of its phase."""

    @property
    def kind(self) -> str:
        return self.options["kind"]


def flows(scenario: dict, phase: int) -> list[Flow]:
    """Flows of a phase in the order of its entries, then of sources, then of destinations; after them, with the first phase, those that
    last as long as the run."""
    of_phase = scenario["phases"][phase]["traffic"] if "phases" in scenario else []
    found = [
        Flow(phase, number, source, destination, entry)
        for number, entry in enumerate(of_phase)
        for source, destination in _host_pairs(scenario, entry["from"], entry["to"])
    ]
    return found + (_whole_flows(scenario, len(of_phase)) if phase == 0 else [])


def phase_count(scenario: dict) -> int:
    """How many phases a scenario has; one where the file has none."""
    return len(scenario.get("phases", [None]))


def start_ms(scenario: dict, flow: Flow, duration_ms: int) -> int:
    """When a flow starts in a phase of `duration_ms`: with `--duration` all times of a file without phases are scaled."""
    return flow.start_ms * duration_ms // scenario["duration_ms"] if "duration_ms" in scenario else flow.start_ms


def _whole_flows(scenario: dict, first: int) -> list[Flow]:
    """Their entries count from `first`. Flow i of a group of n starts at the start of the i-th part of the group's `spread_ms`."""
    found = []
    for number, entry in enumerate(scenario.get("flows", []), first):
        sources, destinations = _party(scenario, entry["from"]), _party(scenario, entry["to"])
        for index, ends in enumerate(zip(sources, destinations)):
            start_ms = entry.get("start_ms", 0) + index * entry.get("spread_ms", DEFAULT_SPREAD_MS) // len(sources)
            found.append(Flow(0, number, *ends, _iperf_options(scenario, entry), start_ms))
    return found


def _party(scenario: dict, name: str) -> list[HostId] | list[RoutedHost]:
    """The hosts of a group, or of an edge, or one."""
    of_group = [host for host in routed_hosts(scenario) if host.name.rsplit(".", 1)[0] == name]
    return of_group or _hosts_of(scenario, name)


def _iperf_options(scenario: dict, entry: dict) -> dict:
    """What an entry of a star's traffic would say."""
    if "udp" in entry:
        payload_bytes = scenario["packet_bytes"] - IP_AND_UDP_BYTES
        # The rate counts IP bytes.
        rate_bps = entry["udp"]["rate_bps"] * payload_bytes // scenario["packet_bytes"]
        return {"kind": "udp", "rate_bps": rate_bps, "payload_bytes": payload_bytes}
    sized = {"bytes": entry["bytes"]} if "bytes" in entry else {}
    return {"kind": "tcp", "transport": entry.get("transport", "cubic"), **sized}


def _host_pairs(scenario: dict, source: str, destination: str) -> Iterator[tuple[HostId, HostId]]:
    """Every source sends to one host of every destination edge: its own index modulo the number of hosts there.
    Hosts of one edge are connected only where both ends are named."""
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
    """What Linux calls the `transport` of a `tcp` or `file` entry. Its reno is NewReno; it has no older one, and no XCP."""
    return {"cubic": "cubic", "newreno": "reno", "reno": "reno"}[entry.get("transport", "cubic")]
