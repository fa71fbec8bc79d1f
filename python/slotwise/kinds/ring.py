# SPDX-License-Identifier: Apache-2.0
"""Packet rings: stations, hosts, flows between them, and link failures."""

from slotwise import builders, scenario
from slotwise.grouped import Spanned


class Ring(Spanned):
    """A packet ring; arguments as in `builders.ring`. Host groups `hosts0`, `hosts1` ..., one per station, exist and more can be added.
    Rates are in bit/s, delays in ns, other times in s."""

    NEEDED = ("ring", "missing; expected a packet ring")

    def __init__(self, stations: int | list[str] = 8, hosts_per_station: int = 1, **options):
        super().__init__(builders.ring(stations, hosts_per_station, **options))

    def _nodes(self) -> list[str]:
        return scenario.stations(self.scenario)
