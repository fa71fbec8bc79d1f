# SPDX-License-Identifier: Apache-2.0
"""Meshes of optical packet switches: edges, hosts, flows between them, and link failures."""

from typing import Any

from slotwise.errors import InvalidArgument
from slotwise.kinds import bound, host_groups, is_count, names, pairs, refuse
from slotwise.network import Scenario, ms
from slotwise.scenario import Json, schema


class OpsMesh(Scenario):
    """A mesh of optical packet switches. Host groups `hosts0`, `hosts1` ..., one per edge, exist and more can be added."""

    NEEDED = ("ops", "missing; expected optical packet switches")

    def __init__(
        self,
        switches: int | list[str] = 5,
        hosts_per_edge: int = 1,
        *,
        links: list[tuple[Any, ...]] | None = None,
        edges_per_switch: int = 1,
        rate_bps: int = 50_000_000,
        delay_ns: int = 200_000,
        edge_delay_ns: int = 100_000,
        ram_bytes: int = 9_000,
        max_deflections: int | str = 3,
        ingress_bytes: int | None = None,
        access_rate_bps: int = 1_000_000_000,
        access_delay_ns: int = 1_000,
        packet_bytes: int = 1_450,
        control_latency_ns: int = 1_000_000,
        seconds: float = 5,
        seed: int = 1,
        name: str | None = None,
        more: Json | None = None,
        **unknown: Any,
    ):
        """Mesh of optical packet switches (their number or names), each with `edges_per_switch` edges of `hosts_per_edge` hosts: groups
        `hosts0` ... at edges `e0` ....

        `links`: pairs of names, each with an optional delay in ns in place of `delay_ns`. Default: each switch to the next two in a circle.
        `rate_bps`: rate of a wavelength. `ram_bytes`: optical RAM of each output. `max_deflections`: "none", a number or "unlimited".
        `ingress_bytes`: queue limit of an edge. Default: a quarter of a second of a wavelength.
        `more`: other keys of the section `ops` (docs/scenario.md).

        Raises UnknownArgument and InvalidArgument; the engine checks the ranges of numbers. The mesh has no flows.
        """
        for key in set(unknown).intersection(schema()["$defs"]["ops"]["properties"] if unknown else ()):
            raise InvalidArgument(f"{key}: a key of the section ops; expected more={{'{key}': ...}}")
        refuse(unknown, OpsMesh.__init__, "a mesh of optical packet switches")
        if not is_count(edges_per_switch) or edges_per_switch < 1:
            raise InvalidArgument(f"edges_per_switch: expected a number of edges, got {edges_per_switch!r}")
        number = switches if is_count(switches) else None
        switches = names("switches", switches, "s")
        links = _around(switches) if links is None else links
        pairs("links", links)
        bound("edges_per_switch, summed over all switches", edges_per_switch * len(switches))
        edges = edges_per_switch * (len(switches) if number is None else number)
        if edges < 2:
            raise InvalidArgument(f"switches: expected at least two edges, got {edges}")
        if not isinstance(more or {}, dict):
            raise InvalidArgument(f"more: expected keys of the section ops with their values, got {more!r}")
        groups = [f"e{number}" for number in range(edges)]
        super().__init__(
            {
                "version": 1,
                "name": name or f"mesh{len(switches)}",
                "seed": seed,
                "duration_ms": ms(seconds),
                "packet_bytes": packet_bytes,
                "ops": {
                    "switches": switches,
                    "links": [
                        {"between": list(link[:2]), "delay_ns": link[2] if len(link) == 3 else delay_ns}
                        for link in links
                    ],
                    "edges": {"edges_per_switch": edges_per_switch, "delay_ns": edge_delay_ns},
                    "rate_bps": rate_bps,
                    "ram_bytes": ram_bytes,
                    "max_deflections": max_deflections,
                    **({} if ingress_bytes is None else {"ingress": {"bytes": ingress_bytes}}),
                    **(more or {}),
                },
                "hosts": host_groups(groups, hosts_per_edge, access_rate_bps, access_delay_ns),
                "flows": [],
                "controller": {"control_latency_ns": control_latency_ns},
            }
        )

    def _nodes(self) -> list[str]:
        ops = self.scenario["ops"]
        edges = ops["edges"]
        if isinstance(edges, dict):
            return [f"e{number}" for number in range(edges["edges_per_switch"] * len(ops["switches"]))]
        return [edge["name"] for edge in edges]


def _around(switches: list[str]) -> list[tuple[Any, ...]]:
    """Links of each switch to the next two in a circle, each pair once."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for step in (1, 2):
        for here, switch in enumerate(switches):
            there = switches[(here + step) % len(switches)]
            if switch != there:
                found.setdefault(frozenset((switch, there)), (switch, there))
    return list(found.values())
