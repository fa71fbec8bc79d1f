# SPDX-License-Identifier: Apache-2.0
"""Lambda networks: sites connected by lightpaths, hosts with separate access links, and GTP sessions between them."""

from slotwise import builders
from slotwise.grouped import Grouped
from slotwise.kinds.routed import Network


class LambdaNetwork(Network):
    """Sites connected by lightpaths; arguments as in `builders.lambda_network`. Host groups `hosts0`, `hosts1` ..., one per site, exist and
    more can be added; `gtp` adds sessions between them. Rates are in bit/s, delays in ns, other times in s."""

    def __init__(self, sites: int | list[str] = 4, hosts_per_site: int = 1, **options):
        # A network of routers begins without nodes, this one with those of the builder.
        Grouped.__init__(self, builders.lambda_network(sites, hosts_per_site, **options))
