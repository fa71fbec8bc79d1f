# SPDX-License-Identifier: Apache-2.0
"""Scenario builders: functions that return a scenario as a dict, without phases.

Rates are in bit/s, times in ns unless a name says otherwise, sizes in bytes.
"""

import inspect
from collections.abc import Callable

from slotwise.errors import InvalidArgument, UnknownArgument, UnknownName

FAULTS = {
    "link-cut": ("for_s", "edge"),
    "edge-restart": ("for_s", "edge"),
    "core-down": ("for_s",),
    "router-restart": ("for_s",),
    "station-restart": ("for_s",),
    "switch-restart": ("for_s",),
    "opsedge-restart": ("for_s",),
    "controller-restart": ("for_s",),
    "clock-step": ("min_ns", "max_ns", "edge"),
    "messages-lost": ("for_s", "share"),
    "messages-duplicated": ("for_s", "share"),
    "messages-reordered": ("for_s", "share"),
    "messages-corrupted": ("for_s", "share"),
}
"""Fault types with their options."""

OPS_KEYS = frozenset(
    {
        "wavelengths",
        "wavelength_conversion",
        "probes",
        "guard_ns",
        "max_hops",
        "target_utilization",
        "framing_bytes",
        "ingress",
        "aggregation",
        "classes",
        "macroflows",
        "resequencing",
    }
)
"""Keys of a scenario's section `ops` that `ops` accepts in `more`."""

MOST_NODES = 1_024
"""Limit on nodes of one type, far above the schema's: a wrong number would exhaust memory before the schema rejects it."""
MOST_SITES = 256
"""Limit on sites, of which every two can have a lightpath."""


def star(
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
    scheduler: str | dict = "fair",
    signaling: str | None = None,
    control_latency_ns: int = 200_000,
    beacon_hold_frames: int = 1,
    seed: int = 1,
    name: str | None = None,
    masters: list[int] | None = None,
    ports: list[int] | None = None,
    **unknown,
) -> dict:
    """Star of `edges` edges around one core, whose master is edge 0, or overlaid stars around one core for each of `masters`.

    `hosts_per_edge`: one number for all edges, or one per edge.
    `slots`: slots per frame, one signaling slot per edge included. Default: five per edge, of which four carry data.
    `delays_ns`: propagation delay of each edge's fibre. Default: 10 µs to 100 µs, evenly spaced.
    `ports`: core port of each edge; edges with the same port share it. Default: separate ports.
    `signaling`: in-band or out-of-band. Default: in-band.

    Raises UnknownArgument and InvalidArgument; the schema has the ranges of numbers (`scenario.check`).
    """
    _refuse(unknown, star, "a star")
    if not _is_count(edges) or edges < 1:
        raise InvalidArgument(f"edges: expected a number of edges, got {given(edges)}")
    _bound("edges", edges, MOST_NODES)
    if masters is None:
        masters = [0]
    if len(set(masters)) != len(masters):
        raise InvalidArgument(f"masters: expected a different edge for each core, got {masters}")
    if ports is not None and len(ports) != edges:
        raise InvalidArgument(f"ports: expected one for each of {edges} edges, got {len(ports)}")
    if delays_ns is None:
        delays_ns = spread(10_000, 100_000, edges)
    if len(delays_ns) != edges:
        raise InvalidArgument(f"delays_ns: expected one for each of {edges} edges, got {len(delays_ns)}")
    hosts = [hosts_per_edge] * edges if _is_count(hosts_per_edge) else hosts_per_edge
    if not isinstance(hosts, (list, tuple)):
        raise InvalidArgument(f"hosts_per_edge: expected one number, or one for each of {edges} edges, got {hosts!r}")
    if len(hosts) != edges:
        raise InvalidArgument(
            f"hosts_per_edge: expected one number, or one for each of {edges} edges, got {len(hosts)}"
        )
    return {
        "version": 1,
        "name": name or f"star{edges}",
        "seed": seed,
        "frame": {"slots": slots or 5 * edges, "slot_ns": slot_ns, "guard_ns": guard_ns}
        | ({"signaling": signaling} if signaling else {}),
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


def ring(
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
    **unknown,
) -> dict:
    """Packet ring of `stations` (their number, or their names in the order of ringlet 0), each with a group of `hosts_per_station` hosts:
    `hosts0` ... from the first station on.

    `open`: open ring, without the span from the last station to the first.
    `interval_ns`: measurement interval of the links; a shorter one converges faster and costs more.
    `buffer_bytes`: ingress buffer of a station. `packet_bytes`: size of a full IP packet.
    `mode`, `threshold`: see docs/ring.md.

    Raises UnknownArgument and InvalidArgument; the schema has the ranges of numbers (`scenario.check`). The scenario has no flows.
    """
    _refuse(unknown, ring, "a ring")
    if _is_count(stations):
        _bound("stations", stations, MOST_NODES)
        stations = [f"station{number}" for number in range(stations)]
    if not isinstance(stations, (list, tuple)) or not all(isinstance(station, str) for station in stations):
        raise InvalidArgument(f"stations: expected their number, or a list of names, got {given(stations)}")
    shared = {} if threshold is None else {"threshold": threshold}
    # So that the controller has ten reports a second of each congested link to show.
    watch = max(1, 100_000_000 // interval_ns) if _is_count(interval_ns) and interval_ns > 0 else 1
    link = {
        "rate_bps": access_rate_bps,
        "up_delay_ns": access_delay_ns,
        "down_delay_ns": access_delay_ns,
        "buffer": {"packets": 1000},
    }
    return {
        "version": 1,
        "name": name or f"ring{len(stations)}",
        "seed": seed,
        "duration_ms": ms(seconds),
        "packet_bytes": packet_bytes,
        "ring": {
            "mode": mode,
            **shared,
            "open": open,
            "links": {"rate_bps": rate_bps, "delay_ns": delay_ns},
            "ingress": {"buffer_bytes": buffer_bytes},
            "timing": {"interval_ns": interval_ns, "monitor_intervals": watch},
            "stations": list(stations),
        },
        "hosts": [
            {"name": f"hosts{number}", "count": hosts_per_station, "at": station, **link}
            for number, station in enumerate(stations)
        ],
        "flows": [],
        "controller": {"control_latency_ns": control_latency_ns},
    }


def ops(
    switches: int | list[str] = 5,
    hosts_per_edge: int = 1,
    *,
    links: list[tuple] | None = None,
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
    more: dict | None = None,
    **unknown,
) -> dict:
    """Mesh of optical packet switches (their number or names), each with `edges_per_switch` edges of `hosts_per_edge` hosts: groups
    `hosts0` ... at edges `e0` ....

    `links`: pairs of names, each with an optional delay in ns in place of `delay_ns`. Default: each switch to the next two in a circle.
    `rate_bps`: rate of a wavelength. `ram_bytes`: optical RAM of each output. `max_deflections`: "none", a number or "unlimited".
    `ingress_bytes`: queue limit of an edge. Default: a quarter of a second of a wavelength.
    `more`: other keys of the section `ops` (docs/scenario.md).

    Raises UnknownArgument and InvalidArgument; the schema has the ranges of numbers (`scenario.check`). The scenario has no flows.
    """
    for key in OPS_KEYS.intersection(unknown):
        raise InvalidArgument(f"{key}: a key of the section ops; expected more={{'{key}': ...}}")
    _refuse(unknown, ops, "a mesh of optical packet switches")
    number = switches if _is_count(switches) else None
    if _is_count(switches):
        _bound("switches", switches, MOST_NODES)
        switches = [f"s{number}" for number in range(switches)]
    if not isinstance(switches, (list, tuple)) or not all(isinstance(switch, str) for switch in switches):
        raise InvalidArgument(f"switches: expected their number, or a list of names, got {given(switches)}")
    if links is None:
        links = _around(switches)
    if not _are_pairs(links):
        raise InvalidArgument(f"links: expected pairs of names, each with an optional delay in ns, got {links!r}")
    if not _is_count(edges_per_switch) or edges_per_switch < 1:
        raise InvalidArgument(f"edges_per_switch: expected a number of edges, got {edges_per_switch!r}")
    _bound("edges_per_switch, summed over all switches", edges_per_switch * len(switches), MOST_NODES)
    edges = edges_per_switch * (len(switches) if number is None else number)
    if edges < 2:
        raise InvalidArgument(f"switches: expected at least two edges, got {edges}")
    if not isinstance(more or {}, dict):
        raise InvalidArgument(f"more: expected keys of the section ops with their values, got {more!r}")
    ingress = {} if ingress_bytes is None else {"ingress": {"bytes": ingress_bytes}}
    access = {
        "rate_bps": access_rate_bps,
        "up_delay_ns": access_delay_ns,
        "down_delay_ns": access_delay_ns,
        "buffer": {"packets": 1000},
    }
    return {
        "version": 1,
        "name": name or f"mesh{len(switches)}",
        "seed": seed,
        "duration_ms": ms(seconds),
        "packet_bytes": packet_bytes,
        "ops": {
            "switches": list(switches),
            "links": [
                {"between": list(link[:2]), "delay_ns": link[2] if len(link) == 3 else delay_ns} for link in links
            ],
            "edges": {"edges_per_switch": edges_per_switch, "delay_ns": edge_delay_ns},
            "rate_bps": rate_bps,
            "ram_bytes": ram_bytes,
            "max_deflections": max_deflections,
            **ingress,
            **(more or {}),
        },
        "hosts": [
            {"name": f"hosts{number}", "count": hosts_per_edge, "at": f"e{number}", **access}
            for number in range(edges_per_switch * len(switches))
        ],
        "flows": [],
        "controller": {"control_latency_ns": control_latency_ns},
    }


def lambda_network(
    sites: int | list[str] = 4,
    hosts_per_site: int = 1,
    *,
    lambdas: list[tuple] | None = None,
    lambda_bps: int = 1_000_000_000,
    delay_ns: int = 10_000_000,
    buffer_packets: int = 1_000,
    access_rate_bps: int = 100_000_000,
    access_delay_ns: int = 10_000,
    gtp: dict | None = None,
    by_controller: bool = False,
    packet_bytes: int = 1_500,
    control_latency_ns: int = 1_000_000,
    seconds: float = 10,
    sample_ms: int = 100,
    seed: int = 1,
    name: str | None = None,
    **unknown,
) -> dict:
    """Lambda network: lightpaths between `sites` (their number or names), each with a group of `hosts_per_site` hosts: `hosts0` ... from
    the first site on.

    `lambdas`: pairs of names, each with an optional delay in ns in place of `delay_ns`; a lightpath in both directions. Default: one
    between every two sites. Sessions use the path with the least delay.
    `gtp`: rate allocation at the hosts' links (docs/scenario.md: `capacity_bps`, `interval_ms`, `alpha`, `beta`, `near_target`, `concurrent_increase`,
    `start`).
    `by_controller`: report the sessions to the controller's application `lambda`.

    Raises UnknownArgument and InvalidArgument; the schema has the ranges of numbers (`scenario.check`). The scenario has no flows.
    """
    _refuse(unknown, lambda_network, "a lambda network")
    if _is_count(sites):
        _bound("sites", sites, MOST_SITES)
        sites = [f"site{number}" for number in range(sites)]
    if not isinstance(sites, (list, tuple)) or not all(isinstance(site, str) for site in sites):
        raise InvalidArgument(f"sites: expected their number, or a list of names, got {given(sites)}")
    if lambdas is None:
        lambdas = [(here, there) for number, here in enumerate(sites) for there in sites[number + 1 :]]
    if not _are_pairs(lambdas):
        raise InvalidArgument(f"lambdas: expected pairs of names, each with an optional delay in ns, got {lambdas!r}")
    for end in (end for each in lambdas for end in each[:2]):
        if end not in sites:
            raise UnknownName("site", str(end), sites, "the lambda network")
    access = {
        "rate_bps": access_rate_bps,
        "up_delay_ns": access_delay_ns,
        "down_delay_ns": access_delay_ns,
        "buffer": {"packets": 1000},
    }
    access |= {} if gtp is None else {"gtp": gtp}
    ways = [(each[:2], each[2] if len(each) == 3 else delay_ns) for each in lambdas]
    return {
        "version": 1,
        "name": name or f"lambda{len(sites)}",
        "seed": seed,
        "duration_ms": ms(seconds),
        "sample_ms": sample_ms,
        "packet_bytes": packet_bytes,
        "routers": list(sites),
        "links": [
            {
                "name": f"{start}-{end}",
                "from": start,
                "to": end,
                "rate_bps": lambda_bps,
                "delay_ns": delay,
                "buffer": {"packets": buffer_packets},
            }
            for (here, there), delay in ways
            for start, end in ((here, there), (there, here))
        ],
        "hosts": [
            {"name": f"hosts{number}", "count": hosts_per_site, "at": site, **access}
            for number, site in enumerate(sites)
        ],
        "flows": [],
        "controller": {"control_latency_ns": control_latency_ns, "metric": "delay"}
        | ({"lambda": True} if by_controller else {}),
    }


def _around(switches: list[str]) -> list[tuple[str, str]]:
    """Links of each switch to the next two in a circle, each pair once."""
    found = {}
    for step in (1, 2):
        for here, switch in enumerate(switches):
            there = switches[(here + step) % len(switches)]
            if switch != there:
                found.setdefault(frozenset((switch, there)), (switch, there))
    return list(found.values())


def clocks(
    *,
    max_offset_ns: int = 400_000_000,
    max_drift_ppb: int = 50_000,
    walk_ppb: int = 50,
    step_ns: int = 1_000_000,
) -> dict:
    """Free-running clocks of all edges except the master: offsets from 0 to `max_offset_ns`, rates within `max_drift_ppb` (parts per
    billion) of the master's, which change by at most `walk_ppb` in each step of `step_ns`."""
    return {"max_offset_ns": max_offset_ns, "max_drift_ppb": max_drift_ppb, "walk_ppb": walk_ppb, "step_ns": step_ns}


def optics(*, launch_mdbm: int = 1_000, sensitivity_mdbm: int = -28_000, margin_mdb: int = 3_000) -> dict:
    """Transmitters and receivers: launch power and receiver sensitivity in dBm/1000, and the margin in dB/1000 within which a signal is
    reported."""
    return {"launch_mdbm": launch_mdbm, "sensitivity_mdbm": sensitivity_mdbm, "margin_mdb": margin_mdb}


def fault(kind: str, every_s: float, **options) -> dict:
    """Injected faults of one type, `every_s` seconds apart on average. Options by type, as in `FAULTS`: `for_s`, the mean duration in s;
    `edge` (default: drawn for each fault); `share`, the probability that a message is affected; `min_ns` and `max_ns`, the range of
    clock steps. Raises UnknownName, and UnknownArgument for an option that the type does not have."""
    if kind not in FAULTS:
        raise UnknownName("fault type", kind, FAULTS, "Slotwise")
    for option in options:
        if option not in FAULTS[kind]:
            raise UnknownArgument("option", option, FAULTS[kind], kind)
    entry = {"kind": kind, "every_ms": ms(every_s)}
    for name, value in options.items():
        entry |= {"for_ms": ms(value)} if name == "for_s" else {name: value}
    return entry


def ms(seconds: float) -> int:
    """Time in ms, as in scenarios. Raises InvalidArgument for anything but a finite number."""
    try:
        return round(seconds * 1000)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"expected a time in s, got {seconds!r}") from None


def given(value: object) -> str:
    """Short text of an argument that should have been a number or a name."""
    return (
        "a dictionary; for an existing scenario use Experiment(...), Network.of(...) and so on"
        if isinstance(value, dict)
        else repr(value)
    )


def _refuse(unknown: dict, builder: Callable, what: str) -> None:
    """Raises UnknownArgument for the first argument that the builder does not have."""
    for argument in unknown:
        known = [each.name for each in inspect.signature(builder).parameters.values() if each.kind != each.VAR_KEYWORD]
        raise UnknownArgument("argument", argument, known, what)


def _bound(argument: str, number: int, most: int) -> None:
    if number > most:
        raise InvalidArgument(f"{argument}: expected at most {most}, got {number}")


def _are_pairs(listed: object) -> bool:
    """Returns true for a list of pairs, each with or without a delay."""
    return isinstance(listed, (list, tuple)) and all(
        isinstance(each, (list, tuple)) and len(each) in (2, 3) for each in listed
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def spread(low: int, high: int, count: int) -> list[int]:
    """`count` evenly spaced integers from `low` to `high`."""
    return [low + (high - low) * number // max(count - 1, 1) for number in range(count)]
