# SPDX-License-Identifier: Apache-2.0
"""Packet rings: stations, hosts, flows between them, and link failures."""

from typing import Any

from slotwise.kinds import host_groups, is_count, names, refuse
from slotwise.network import Scenario, ms


class Ring(Scenario):
    """A packet ring. Host groups `hosts0`, `hosts1` ..., one per station, exist and more can be added."""

    NEEDED = ("ring", "missing; expected a packet ring")

    def __init__(
        self,
        stations: int | list[str] = 8,
        hosts_per_station: int = 1,
        *,
        mode: str = "explicit",
        rate_bps: int = 100_000_000,
        delay_ns: int = 10_000,
        open: bool = False,
        threshold: float | None = None,
        interval_ns: int = 1_000_000,
        buffer_bytes: int = 100_000,
        access_rate_bps: int = 1_000_000_000,
        access_delay_ns: int = 1_000,
        packet_bytes: int = 1_450,
        control_latency_ns: int = 1_000_000,
        seconds: float = 5,
        seed: int = 1,
        name: str | None = None,
        **unknown: Any,
    ):
        """Packet ring of `stations` (their number, or their names in the order of ringlet 0), each with a group of `hosts_per_station`
        hosts.

        `open`: open ring, without the span from the last station to the first.
        `interval_ns`: measurement interval of the links; a shorter one converges faster and costs more.
        `buffer_bytes`: ingress buffer of a station. `packet_bytes`: size of a full IP packet.
        `mode`, `threshold`: see docs/ring.md.

        Raises UnknownArgument and InvalidArgument; the engine checks the ranges of numbers. The ring has no flows.
        """
        refuse(unknown, Ring.__init__, "a ring")
        stations = names("stations", stations, "station")
        # The controller receives ten reports per second of each congested link.
        watch = max(1, 100_000_000 // interval_ns) if is_count(interval_ns) and interval_ns > 0 else 1
        super().__init__(
            {
                "version": 1,
                "name": name or f"ring{len(stations)}",
                "seed": seed,
                "duration_ms": ms(seconds),
                "packet_bytes": packet_bytes,
                "ring": {
                    "mode": mode,
                    **({} if threshold is None else {"threshold": threshold}),
                    "open": open,
                    "links": {"rate_bps": rate_bps, "delay_ns": delay_ns},
                    "ingress": {"buffer_bytes": buffer_bytes},
                    "timing": {"interval_ns": interval_ns, "monitor_intervals": watch},
                    "stations": stations,
                },
                "hosts": host_groups(stations, hosts_per_station, access_rate_bps, access_delay_ns),
                "flows": [],
                "controller": {"control_latency_ns": control_latency_ns},
            }
        )

    def _nodes(self) -> list[str]:
        listed = self.scenario["ring"]["stations"]
        return [station["name"] if isinstance(station, dict) else station for station in listed]
