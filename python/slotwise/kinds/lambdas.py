# SPDX-License-Identifier: Apache-2.0
"""Lambda networks: sites connected by lightpaths, hosts with separate access links, and GTP sessions between them."""

from typing import Any

from slotwise.errors import UnknownName
from slotwise.kinds import host_groups, names, pairs, refuse
from slotwise.kinds.routed import Network
from slotwise.network import Scenario, ms
from slotwise.scenario import Json

MOST_SITES = 256
"""Limit on sites: every two can have a lightpath."""


class LambdaNetwork(Network):
    """Sites connected by lightpaths. Host groups `hosts0`, `hosts1` ..., one per site, exist and more can be added; `gtp` adds sessions
    between them."""

    def __init__(
        self,
        sites: int | list[str] = 4,
        hosts_per_site: int = 1,
        *,
        lambdas: list[tuple[Any, ...]] | None = None,
        lambda_bps: int = 1_000_000_000,
        delay_ns: int = 10_000_000,
        buffer_packets: int = 1_000,
        access_rate_bps: int = 100_000_000,
        access_delay_ns: int = 10_000,
        gtp: Json | None = None,
        by_controller: bool = False,
        packet_bytes: int = 1_500,
        control_latency_ns: int = 1_000_000,
        seconds: float = 10,
        sample_ms: int = 100,
        seed: int = 1,
        name: str | None = None,
        **unknown: Any,
    ):
        """Lambda network: lightpaths between `sites` (their number or names), each with a group of `hosts_per_site` hosts.

        `lambdas`: pairs of names, each with an optional delay in ns in place of `delay_ns`; a lightpath in both directions. Default: one
        between every two sites. Sessions use the path with the least delay.
        `gtp`: rate allocation at the hosts' links (docs/scenario.md: `capacity_bps`, `interval_ms`, `alpha`, `beta`, `near_target`,
        `concurrent_increase`, `start`).
        `by_controller`: report the sessions to the controller's application `lambda`.

        Raises UnknownArgument and InvalidArgument; the engine checks the ranges of numbers. The network has no flows.
        """
        refuse(unknown, LambdaNetwork.__init__, "a lambda network")
        sites = names("sites", sites, "site", MOST_SITES)
        if lambdas is None:
            lambdas = [(here, there) for number, here in enumerate(sites) for there in sites[number + 1 :]]
        pairs("lambdas", lambdas)
        for end in (end for each in lambdas for end in each[:2]):
            if end not in sites:
                raise UnknownName("site", str(end), sites, "the lambda network")
        paths = [(each[:2], each[2] if len(each) == 3 else delay_ns) for each in lambdas]
        sessions = {} if gtp is None else {"gtp": gtp}
        # Skips the constructor of Network, which creates an empty network.
        Scenario.__init__(
            self,
            {
                "version": 1,
                "name": name or f"lambda{len(sites)}",
                "seed": seed,
                "duration_ms": ms(seconds),
                "sample_ms": sample_ms,
                "packet_bytes": packet_bytes,
                "routers": sites,
                "links": [
                    {
                        "name": f"{start}-{end}",
                        "from": start,
                        "to": end,
                        "rate_bps": lambda_bps,
                        "delay_ns": delay,
                        "buffer": {"packets": buffer_packets},
                    }
                    for (here, there), delay in paths
                    for start, end in ((here, there), (there, here))
                ],
                "hosts": host_groups(sites, hosts_per_site, access_rate_bps, access_delay_ns, **sessions),
                "flows": [],
                "controller": {"control_latency_ns": control_latency_ns, "metric": "delay"}
                | ({"lambda": True} if by_controller else {}),
            },
        )
