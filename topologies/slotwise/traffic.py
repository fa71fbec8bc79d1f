# SPDX-License-Identifier: Apache-2.0
"""Which flows a phase's traffic entries stand for. Pure; the same rule as the engine's `scenario` crate."""
import re
from typing import Iterator, NamedTuple

from slotwise.scenario import HostId, hosts


class Flow(NamedTuple):
    """One flow from host to host."""

    phase: int
    entry: int
    """Index of the traffic entry in its phase."""
    source: HostId
    destination: HostId
    options: dict
    """The traffic entry: `kind` and what belongs to it."""

    @property
    def kind(self) -> str:
        return self.options["kind"]


def flows(scenario: dict, phase: int) -> list[Flow]:
    """Flows of a phase in the order of its entries, then of sources, then of destinations."""
    return [
        Flow(phase, number, source, destination, entry)
        for number, entry in enumerate(scenario["phases"][phase]["traffic"])
        for source, destination in _host_pairs(scenario, entry["from"], entry["to"])
    ]


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
