# SPDX-License-Identifier: Apache-2.0
"""The short API: describe stars and their traffic, run them, look at the report."""

from typing import Self

from slotwise import builders
from slotwise.parts import Parts


class Experiment(Parts):
    """A scenario with a star in the making, whose traffic is that of its phases."""

    NEEDED = ("cores", "not there; expected a star")

    def tcp(self, source: str = "all", destination: str = "all", **options) -> Self:
        """Bulk TCP; options `rate_bps` of each stream, `streams` of each flow, and `transport`. Raises UnknownEndpoint."""
        return self.traffic("tcp", source, destination, **options)

    def udp(
        self, source: str, destination: str, rate_bps: int, payload_bytes: int, process: str = "constant", **options
    ) -> Self:
        """UDP datagrams, `process` constant, poisson, or on-off-pareto with `mean_on_ns`, `mean_off_ns`, `shape`.
        Raises UnknownEndpoint."""
        options = {"rate_bps": rate_bps, "payload_bytes": payload_bytes, "process": process, **options}
        return self.traffic("udp", source, destination, **options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> Self:
        """Users at `destination` who fetch pages; options `users`, `open`, `shape`, `max_bytes`, `transport`. Raises
        UnknownEndpoint."""
        return self.traffic("web", source, destination, mean_think_ns=mean_think_ns, mean_bytes=mean_bytes, **options)

    def link_change(self, at_s: float, edge: int, core: int = 0, **change) -> Self:
        """What `Network` calls `fibre_change`. Raises UnknownFibre."""
        return self.fibre_change(at_s, edge, core, **change)


class Star(Experiment):
    """One core and its edges; arguments as in `builders.star`."""

    def __init__(self, edges: int = 4, hosts_per_edge: int | list[int] = 2, **options):
        super().__init__(builders.star(edges, hosts_per_edge, **options))
