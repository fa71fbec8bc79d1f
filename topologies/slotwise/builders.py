# SPDX-License-Identifier: Apache-2.0
"""Topology generators: functions that return a scenario as a dict, without phases.

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
    "clock-step": ("least_ns", "most_ns", "edge"),
    "messages-lost": ("for_s", "share"),
    "messages-duplicated": ("for_s", "share"),
    "messages-reordered": ("for_s", "share"),
    "messages-corrupted": ("for_s", "share"),
}
"""Kinds of faults with the options of each."""

OPS_KEYS = frozenset(
    {
        "wavelengths",
        "conversion",
        "probes",
        "guard_ns",
        "hops",
        "target",
        "framing_bytes",
        "ingress",
        "aggregation",
        "classes",
        "macroflows",
        "resequencing",
    }
)
"""Keys of a scenario's section `ops` that `ops` takes in `more`."""

MOST_NODES = 1_024
"""No network has as many nodes of one sort: a number that is wrong would fill the memory before the schema could say so."""
MOST_SITES = 256
"""The same of sites, of which every two may have a lambda."""


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
    """`edges` edges around one core, whose master is edge 0, or around one core for each of `masters`.

    `hosts_per_edge` is one number for all edges, or one for each. `slots` is per frame: one signaling slot an edge, the others carry data; unless given, four data slots an edge.
    `delays_ns` is the propagation delay of each edge's fibre; unless given, 10 µs to 100 µs, evenly spread.
    `ports` is the core's port of each edge; edges with the same one share it. Unless given, each has its own.
    `signaling` is in-band, unless given, or out-of-band.

    Raises UnknownArgument and InvalidArgument; what the numbers may be is the schema's (`scenario.check`).
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
    half: bool = False,
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
    """A packet ring of `stations`, their number or their names in the order of ringlet 0, each with a group of `hosts_per_station` hosts,
    `hosts0` at the first one. No flows.

    `half` leaves out the span from the last station to the first. `interval_ns` is the time between two looks at a link: a shorter one is
    fair sooner and costs more. `buffer_bytes` is what may wait at a station for the ring, `packet_bytes` a full IP packet. For `mode` and
    `threshold` see docs/ring.md.

    Raises UnknownArgument and InvalidArgument; what the numbers may be is the schema's (`scenario.check`).
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
            "half": half,
            "links": {"rate_bps": rate_bps, "delay_ns": delay_ns},
            "ingress": {"buffer_bytes": buffer_bytes},
            "timing": {"interval_ns": interval_ns, "watch_intervals": watch},
            "stations": list(stations),
        },
        "hosts": [
            {"name": f"hosts{number}", "count": hosts_per_station, "station": station, **link}
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
    deflections: int | str = 3,
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
    """A mesh of optical packet switches, their number or their names, each with `edges_per_switch` edges of `hosts_per_edge` hosts: groups
    `hosts0` ... at edges `e0` .... No flows.

    `links` are pairs of names, or a pair and a delay in ns where it is not `delay_ns`; without them each switch is joined to the next two
    around. `rate_bps` is a wavelength's, `ram_bytes` the optical RAM before each output, `deflections` "none", a number or "unlimited".
    `ingress_bytes` may wait at an edge for its fibre, a quarter of a second unless given. `more` are other keys of the section `ops`, as
    docs/scenario.md has them.

    Raises UnknownArgument and InvalidArgument; what the numbers may be is the schema's (`scenario.check`).
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
        raise InvalidArgument(f"links: expected pairs of names, each with a delay in ns or without, got {links!r}")
    if not _is_count(edges_per_switch) or edges_per_switch < 1:
        raise InvalidArgument(f"edges_per_switch: expected a number of edges, got {edges_per_switch!r}")
    _bound("edges_per_switch, of all switches together", edges_per_switch * len(switches), MOST_NODES)
    edges = edges_per_switch * (len(switches) if number is None else number)
    if edges < 2:
        raise InvalidArgument(f"switches: expected two edges at least, got {edges}")
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
            "edges": {"each": edges_per_switch, "delay_ns": edge_delay_ns},
            "rate_bps": rate_bps,
            "ram_bytes": ram_bytes,
            "deflections": deflections,
            **ingress,
            **(more or {}),
        },
        "hosts": [
            {"name": f"hosts{number}", "count": hosts_per_edge, "edge": f"e{number}", **access}
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
    """A web of lambdas between `sites`, their number or their names, each with a group of `hosts_per_site` hosts, `hosts0` at the first one.
    No flows.

    `lambdas` are pairs of names, or a pair and a delay in ns where it is not `delay_ns`, each a light path both ways; without them every two
    sites have one. A path over several takes that with the least delay. `gtp` says how hosts share their links, as docs/scenario.md has it
    (`capacity_bps`, `interval_ms`, `alpha`, `beta`, `knife_edge`, `crowd`, `start`). `by_controller` tells the controller's application
    `lambda` of the sessions, too.

    Raises UnknownArgument and InvalidArgument; what the numbers may be is the schema's (`scenario.check`).
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
        raise InvalidArgument(f"lambdas: expected pairs of names, each with a delay in ns or without, got {lambdas!r}")
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
            {"name": f"hosts{number}", "count": hosts_per_site, "router": site, **access}
            for number, site in enumerate(sites)
        ],
        "flows": [],
        "controller": {"control_latency_ns": control_latency_ns, "metric": "delay"}
        | ({"lambda": True} if by_controller else {}),
    }


def _around(switches: list[str]) -> list[tuple[str, str]]:
    """Each joined to the next two, each pair once."""
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
    """Clocks of their own for all edges but the master: offsets from 0 to `max_offset_ns`, rates within `max_drift_ppb` (parts per
    billion) of the master's, each step of `step_ns` changing a rate by at most `walk_ppb`."""
    return {"max_offset_ns": max_offset_ns, "max_drift_ppb": max_drift_ppb, "walk_ppb": walk_ppb, "step_ns": step_ns}


def optics(*, launch_mdbm: int = 1_000, sensitivity_mdbm: int = -28_000, margin_mdb: int = 3_000) -> dict:
    """Transmitters and receivers: power into a fibre and least power that is read, in dBm / 1000, and how near to it light is
    reported, in dB / 1000."""
    return {"launch_mdbm": launch_mdbm, "sensitivity_mdbm": sensitivity_mdbm, "margin_mdb": margin_mdb}


def fault(kind: str, every_s: float, **options) -> dict:
    """One kind of faults on purpose, `every_s` seconds apart on average. Its options are those of `FAULTS`: `for_s` its mean length in
    s, `edge` where (drawn unless given), `share` of the messages hit, `least_ns` and `most_ns` of a step. Raises UnknownName, and
    UnknownArgument for an option that the kind does not have."""
    if kind not in FAULTS:
        raise UnknownName("kind of fault", kind, FAULTS, "Slotwise")
    for option in options:
        if option not in FAULTS[kind]:
            raise UnknownArgument("option", option, FAULTS[kind], kind)
    entry = {"kind": kind, "every_ms": ms(every_s)}
    for name, value in options.items():
        entry |= {"for_ms": ms(value)} if name == "for_s" else {name: value}
    return entry


def ms(seconds: float) -> int:
    """As scenarios have times. Raises InvalidArgument for what is no finite number."""
    try:
        return round(seconds * 1000)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"expected a time in s, got {seconds!r}") from None


def given(value: object) -> str:
    """What was given instead of a number or a name, in few words."""
    return (
        "a dictionary; a scenario that is there already begins with Experiment(...), Network.of(...) and so on"
        if isinstance(value, dict)
        else repr(value)
    )


def _refuse(unknown: dict, builder: Callable, what: str) -> None:
    """Raises UnknownArgument for the first of these, which the builder does not have."""
    for argument in unknown:
        known = [each.name for each in inspect.signature(builder).parameters.values() if each.kind != each.VAR_KEYWORD]
        raise UnknownArgument("argument", argument, known, what)


def _bound(argument: str, number: int, most: int) -> None:
    if number > most:
        raise InvalidArgument(f"{argument}: expected at most {most}, got {number}")


def _are_pairs(listed: object) -> bool:
    """Whether each is two ends, and perhaps a delay."""
    return isinstance(listed, (list, tuple)) and all(
        isinstance(each, (list, tuple)) and len(each) in (2, 3) for each in listed
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def spread(low: int, high: int, count: int) -> list[int]:
    """`count` integers from `low` to `high`, evenly spread."""
    return [low + (high - low) * number // max(count - 1, 1) for number in range(count)]
