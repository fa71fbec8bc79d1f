# SPDX-License-Identifier: Apache-2.0
"""Stars: edges around time-slotted photonic cores; traffic belongs to phases."""

from typing import Any

from slotwise.errors import InvalidArgument
from slotwise.kinds import bound, is_count, refuse, shown
from slotwise.network import Scenario
from slotwise.scenario import Json


class Star(Scenario):
    """A star of one core and its edges, or overlaid stars with several cores."""

    NEEDED = ("cores", "missing; expected a star")

    def __init__(
        self,
        edges: int = 4,
        hosts_per_edge: int | list[int] = 2,
        *,
        rate_bps: int = 200_000_000,
        delays_ns: list[int] | None = None,
        slots: int | None = None,
        slot_ns: int = 250_000,
        guard_ns: int = 10_000,
        mtu: int = 1450,
        queue_limit_bytes: int = 400_000,
        access_rate_bps: int = 1_000_000_000,
        access_delay_ns: int = 1_000,
        scheduler: str | Json = "fair",
        signaling: str | None = None,
        control_latency_ns: int = 200_000,
        beacon_hold_frames: int = 1,
        seed: int = 1,
        name: str | None = None,
        masters: list[int] | None = None,
        ports: list[int] | None = None,
        **unknown: Any,
    ):
        """Star of `edges` edges around one core, whose master is edge 0, or overlaid stars around one core for each of `masters`.

        `hosts_per_edge`: one number for all edges, or one per edge.
        `slots`: slots per frame, one signaling slot per edge included. Default: five per edge, of which four carry data.
        `delays_ns`: propagation delay of each edge's fibre. Default: 10 µs to 100 µs, evenly spaced.
        `ports`: core port of each edge; edges with the same port share it. Default: separate ports.
        `signaling`: in-band or out-of-band. Default: in-band.

        Raises UnknownArgument and InvalidArgument; the engine checks the ranges of numbers.
        """
        refuse(unknown, Star.__init__, "a star")
        if not is_count(edges) or edges < 1:
            raise InvalidArgument(f"edges: expected a number of edges, got {shown(edges)}")
        bound("edges", edges)
        masters = [0] if masters is None else masters
        if len(set(masters)) != len(masters):
            raise InvalidArgument(f"masters: expected a different edge for each core, got {masters}")
        if ports is not None:
            _one_each("ports", ports, edges)
        delays_ns = spread(10_000, 100_000, edges) if delays_ns is None else delays_ns
        _one_each("delays_ns", delays_ns, edges)
        hosts = [hosts_per_edge] * edges if is_count(hosts_per_edge) else hosts_per_edge
        if not isinstance(hosts, (list, tuple)):
            raise InvalidArgument(
                f"hosts_per_edge: expected one number, or one for each of {edges} edges, got {hosts!r}"
            )
        _one_each("hosts_per_edge", hosts, edges, "one number, or ")
        frame = {"slots": slots or 5 * edges, "slot_ns": slot_ns, "guard_ns": guard_ns}
        super().__init__(
            {
                "version": 1,
                "name": name or f"star{edges}",
                "seed": seed,
                "frame": frame | ({"signaling": signaling} if signaling else {}),
                "cores": [{"id": core, "master": master} for core, master in enumerate(masters)],
                "edges": [
                    {
                        "id": edge,
                        "hosts": hosts[edge],
                        "fibres": [
                            {"core": core, "rate_bps": rate_bps, "delay_ns": delay_ns}
                            | ({"port": ports[edge]} if ports else {})
                            for core in range(len(masters))
                        ],
                    }
                    for edge, delay_ns in enumerate(delays_ns)
                ],
                "queues": {"limit_bytes": queue_limit_bytes},
                "hosts": {"mtu": mtu, "access_rate_bps": access_rate_bps, "access_delay_ns": access_delay_ns},
                "controller": {
                    "scheduler": scheduler,
                    "control_latency_ns": control_latency_ns,
                    "beacon_hold_frames": beacon_hold_frames,
                },
                "phases": [],
            }
        )


def spread(low: int, high: int, count: int) -> list[int]:
    """`count` evenly spaced integers from `low` to `high`."""
    return [low + (high - low) * number // max(count - 1, 1) for number in range(count)]


def _one_each(argument: str, listed: list[int], edges: int, also: str = "") -> None:
    if len(listed) != edges:
        raise InvalidArgument(f"{argument}: expected {also}one for each of {edges} edges, got {len(listed)}")
