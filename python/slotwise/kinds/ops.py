# SPDX-License-Identifier: Apache-2.0
"""Meshes of optical packet switches: edges, hosts, flows between them, and link failures."""

from slotwise import builders, scenario
from slotwise.grouped import Spanned


class OpsMesh(Spanned):
    """A mesh of optical packet switches; arguments as in `builders.ops`. Host groups `hosts0`, `hosts1` ..., one per edge, exist and more
    can be added. Rates are in bit/s, delays in ns, other times in s."""

    NEEDED = ("ops", "missing; expected optical packet switches")

    def __init__(self, switches: int | list[str] = 5, hosts_per_edge: int = 1, **options):
        super().__init__(builders.ops(switches, hosts_per_edge, **options))

    def _nodes(self) -> list[str]:
        return scenario.ops_edges(self.scenario)

    def _span(self, start: str, end: str) -> str:
        # A fibre is named by its file's order, and has no direction for who cuts it.
        known = scenario.fibre_names(self.scenario)
        return next((name for name in (f"{start}-{end}", f"{end}-{start}") if name in known), f"{start}-{end}")
