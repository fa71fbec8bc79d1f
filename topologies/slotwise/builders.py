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
    masters: list[int] | None = None,
    ports: list[int] | None = None,
) -> dict:
    """`edges` edges around one core, whose master is edge 0, or around one core for each of `masters`.

    `slots` is per frame: one signaling slot an edge, the others carry data; unless given, four data slots an edge.
    `delays_ns` is the propagation delay of each edge's fibre; unless given, 10 µs to 100 µs, evenly spread.
    `ports` is the core's port of each edge; edges with the same one share it. Unless given, each has its own.
    """
    if masters is None:
        masters = [0]
    if len(set(masters)) != len(masters):
        raise ValueError(f"masters: expected a different edge for each core, got {masters}")
    if ports is not None and len(ports) != edges:
        raise ValueError(f"ports: expected one for each of {edges} edges, got {len(ports)}")
    if delays_ns is None:
        delays_ns = spread(10_000, 100_000, edges)
    if len(delays_ns) != edges:
        raise ValueError(f"delays_ns: expected one for each of {edges} edges, got {len(delays_ns)}")
    return {
        "version": 1,
        "name": name or f"star{edges}",
        "seed": seed,
        "frame": {"slots": slots or 5 * edges, "slot_ns": slot_ns, "guard_ns": guard_ns},
        "cores": [{"id": core, "master": master} for core, master in enumerate(masters)],
        "edges": [
            {
                "id": edge,
                "hosts": hosts_per_edge,
                "fibres": [
                    {"core": core, "rate_bps": rate_bps, "delay_ns": delay_ns} | ({"port": ports[edge]} if ports else {})
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


def spread(low: int, high: int, count: int) -> list[int]:
    """`count` integers from `low` to `high`, evenly spread."""
    return [low + (high - low) * number // max(count - 1, 1) for number in range(count)]

