# SPDX-License-Identifier: Apache-2.0
"""Topology generators: functions that return a scenario as a dict, without phases.

Rates are in bit/s, times in ns unless a name says otherwise, sizes in bytes.
"""


def star(
    edges: int = 4,
    hosts_per_edge: int = 2,
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
    scheduler: str = "fair",
    control_latency_ns: int = 200_000,
    beacon_hold_frames: int = 1,
    seed: int = 1,
    name: str | None = None,
) -> dict:
    """One core and `edges` edges; edge 0 is the master.

    `slots` is per frame: one signaling slot an edge, the others carry data; unless given, four data slots an edge.
    `delays_ns` is the propagation delay of each edge's fibre; unless given, 10 µs to 100 µs, evenly spread.
    """
    if delays_ns is None:
        delays_ns = spread(10_000, 100_000, edges)
    if len(delays_ns) != edges:
        raise ValueError(f"delays_ns: expected one for each of {edges} edges, got {len(delays_ns)}")
    return {
        "version": 1,
        "name": name or f"star{edges}",
        "seed": seed,
        "frame": {"slots": slots or 5 * edges, "slot_ns": slot_ns, "guard_ns": guard_ns},
        "cores": [{"id": 0, "master": 0}],
        "edges": [
            {"id": edge, "hosts": hosts_per_edge, "fibres": [{"core": 0, "rate_bps": rate_bps, "delay_ns": delay_ns}]}
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


def spread(low: int, high: int, count: int) -> list[int]:
    """`count` integers from `low` to `high`, evenly spread."""
    return [low + (high - low) * number // max(count - 1, 1) for number in range(count)]

