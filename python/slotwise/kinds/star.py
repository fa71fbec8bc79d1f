# SPDX-License-Identifier: Apache-2.0
"""Short API for stars: describe a star and its traffic, run it, and evaluate its report."""

from typing import Self

from slotwise import builders
from slotwise.parts import Parts


class Experiment(Parts):
    """A scenario with a star under construction; traffic belongs to phases."""

    NEEDED = ("cores", "missing; expected a star")

    def tcp(self, source: str = "all", destination: str = "all", **options) -> Self:
        """Bulk TCP; options `rate_bps` per stream, `streams` per flow, and `transport`. Raises UnknownEndpoint."""
        return self.traffic("tcp", source, destination, **options)

    def udp(
        self, source: str, destination: str, rate_bps: int, payload_bytes: int, process: str = "constant", **options
    ) -> Self:
        """UDP datagrams, `process` constant, poisson, or on-off-pareto with `mean_on_ns`, `mean_off_ns`, `shape`.
        Raises UnknownEndpoint."""
        options = {"rate_bps": rate_bps, "payload_bytes": payload_bytes, "process": process, **options}
        return self.traffic("udp", source, destination, **options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> Self:
        """Web users at `destination` that fetch pages; options `users`, `open`, `shape`, `max_bytes`, `transport`. Raises
        UnknownEndpoint."""
        return self.traffic("web", source, destination, mean_think_ns=mean_think_ns, mean_bytes=mean_bytes, **options)

    def link_change(self, at_s: float, edge: int, core: int = 0, **change) -> Self:
        """Changes a fibre, as `fibre_change`. Raises UnknownFibre."""
        return self.fibre_change(at_s, edge, core, **change)


class Star(Experiment):
    """A star of one core and its edges; arguments as in `builders.star`."""

    def __init__(self, edges: int = 4, hosts_per_edge: int | list[int] = 2, **options):
        super().__init__(builders.star(edges, hosts_per_edge, **options))
