# SPDX-License-Identifier: Apache-2.0
"""Packet rings: stations, their hosts, flows between them, and cuts."""
from typing import Self

from slotwise import builders, scenario
from slotwise.grouped import Grouped


class Ring(Grouped):
    """A packet ring; arguments as in `builders.ring`. Its groups of hosts are `hosts0`, `hosts1` ..., one at each station, and more can be
    added. Rates are in bit/s, delays in ns, other times in s."""

    NEEDED = ("ring", "not there; expected a packet ring")
    OF_GROUP = "station"

    def __init__(self, stations: int | list[str] = 8, hosts_per_station: int = 1, **options):
        super().__init__(builders.ring(stations, hosts_per_station, **options))

    def span_change(self, at_s: float, start: str, end: str, up: bool, *, every_s: float | None = None, times: int | None = None) -> Self:
        """Cuts the span from a station to the next one, or mends it, both ways, at one time or `times` times. Raises UnknownName."""
        span = self._known("span", f"{start}-{end}", scenario.fibre_names(self.scenario))
        return self._change(at_s, {"span": span}, every_s, times, {"up": up})

    def _nodes(self) -> list[str]:
        return scenario.stations(self.scenario)
