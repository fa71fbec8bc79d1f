# SPDX-License-Identifier: Apache-2.0
"""Agile stars for Mininet's own command:

    sudo mn --custom topologies/slotwise/mn.py --topo agilestar,4,2 --controller none
    sudo mn --custom topologies/slotwise/mn.py --topo agile,topologies/star4-twin.yaml,report=r.json,pcap=captures --controller none

`agilestar` has so many edges with so many hosts each, `agile` the network of a scenario file. The edges are `AgileEdge` switches in
front of one fabric, a `slotwise emulate --attach` process (P4 edges, cores and controller) that starts with the last edge and stops
with the net. In Mininet's command line `fibre edge2-core0 down` cuts a fibre.
"""
import os
import sys
from pathlib import Path

# `mn --custom` executes this file's text: it is no module of a package then, and sudo drops PYTHONPATH.
sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

# pylint: disable=wrong-import-position
from slotwise import builders
from slotwise import scenario as scenarios
from slotwise.fabric import AgileCLI, AgileEdge
from slotwise.net import ScenarioTopo
from slotwise.rundir import MARK, RunDirectory

# Mininet gives a topology's arguments with commas between: terms of a filter have plus signs.
OPTIONS = {
    "report": "--report", "pcap": "--pcap", "pcap_filter": "--pcap-filter", "snaplen": "--snaplen", "seed": "--seed",
    "rest_port": "--rest-port", "p4runtime_port": "--p4runtime-port", "target": "--target",
}


def split(options: dict) -> tuple[dict, dict]:
    """Options of the run, as the command calls them, and all others."""
    run = {OPTIONS[name]: value for name, value in options.items() if name in OPTIONS}
    if "--pcap-filter" in run:
        run["--pcap-filter"] = str(run["--pcap-filter"]).replace("+", ",")
    return run, {name: value for name, value in options.items() if name not in OPTIONS}


class MarkedTopo(ScenarioTopo):
    """What Mininet starts for it has a run's directory in its environment: scripts/clean-net finds what a killed `mn` leaves."""

    def build(self, *arguments, **options):  # pylint: disable=arguments-differ
        self.run = RunDirectory("mn")
        os.environ[MARK] = self.run.name
        super().build(*arguments, **options)


class AgileStar(MarkedTopo):
    """A star of `edges` edges with `hosts` hosts each. Other parameters as in `slotwise.builders.star`, and those in `OPTIONS`."""

    def build(self, edges: int = 4, hosts: int = 2, **options):  # pylint: disable=arguments-differ
        run, others = split(options)
        scenario = builders.star(edges, hosts, **others)
        # Mininet's command line and tests make the traffic; a scenario has at least one phase.
        scenario["phases"] = [{"name": "attached", "duration_ms": 1000, "traffic": []}]
        super().build(scenario, AgileEdge, options=run)


class Agile(MarkedTopo):
    """The network of a scenario file; its traffic is Mininet's. Other parameters are those in `OPTIONS`."""

    def build(self, file: str, **options):  # pylint: disable=arguments-differ
        run, others = split(options)
        if others:
            raise TypeError(f"agile: no option '{sorted(others)[0]}'; expected some of {', '.join(OPTIONS)}")
        super().build(scenarios.load(str(file)), AgileEdge, options=run)


topos = {"agilestar": AgileStar, "agile": Agile}
# What `mn` starts.
CLI = AgileCLI  # pylint: disable=invalid-name
