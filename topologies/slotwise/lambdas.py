# SPDX-License-Identifier: Apache-2.0
"""Lambda networks: sites that light paths join, hosts that share their links alone, sessions of GTP between them."""

from slotwise import builders
from slotwise.grouped import Grouped
from slotwise.network import Network


class LambdaNetwork(Network):
    """Sites joined by lambdas; arguments as in `builders.lambda_network`. Its groups of hosts are `hosts0`, `hosts1` ..., one at each site, and
    more can be added; `gtp` makes sessions between them. Rates are in bit/s, delays in ns, other times in s."""

    def __init__(self, sites: int | list[str] = 4, hosts_per_site: int = 1, **options):
        # A network of routers begins without nodes, this one with those of the builder.
        Grouped.__init__(self, builders.lambda_network(sites, hosts_per_site, **options))
