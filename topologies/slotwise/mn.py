# SPDX-License-Identifier: Apache-2.0
"""Agile stars for Mininet's own command:

    sudo mn --custom topologies/slotwise/mn.py --topo agilestar,4,2 --controller none

Four edges with two hosts each. The edges are `AgileEdge` switches in front of one fabric, a `slotwise emulate --attach`
process (P4 edges, core and controller) that starts with the last edge and stops with the net.
"""
import sys
from pathlib import Path

# `mn --custom` executes this file's text: it is no module of a package then, and sudo drops PYTHONPATH.
sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

# pylint: disable=wrong-import-position
from slotwise import builders
from slotwise.fabric import AgileEdge
from slotwise.net import ScenarioTopo


class AgileStar(ScenarioTopo):
    """A star of `edges` edges with `hosts` hosts each; other parameters as in `slotwise.builders.star`."""

    def build(self, edges: int = 4, hosts: int = 2, **options):  # pylint: disable=arguments-differ
        scenario = builders.star(edges, hosts, **options)
        # Mininet's command line and tests make the traffic; a scenario has at least one phase.
        scenario["phases"] = [{"name": "attached", "duration_ms": 1000, "traffic": []}]
        super().build(scenario, AgileEdge)


topos = {"agilestar": AgileStar}
