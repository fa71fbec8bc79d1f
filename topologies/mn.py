# SPDX-License-Identifier: Apache-2.0
"""Topologies for Mininet's `mn` command:

    sudo mn --custom topologies/mn.py --topo agilestar,4,2 --controller none
    sudo mn --custom topologies/mn.py --topo agile,topologies/star4-twin.yaml,report=r.json,pcap=captures --controller none
    sudo mn --custom topologies/mn.py --topo agile,topologies/routers4.yaml --controller none
    sudo mn --custom topologies/mn.py --topo packetring,8 --controller none
    sudo mn --custom topologies/mn.py --topo opsmesh,5 --controller none
    sudo mn --custom topologies/mn.py --topo lambda,4 --controller none

`agilestar,EDGES,HOSTS` is a star of edges with hosts, `packetring,STATIONS` a packet ring, `opsmesh,SWITCHES` a mesh of optical packet
switches with an edge each, `lambda,SITES` a network of sites connected by lightpaths, and `agile,FILE` the network of a scenario file.
Edges, routers and stations are `AgileSwitch`es in front of one emulator, a `slotwise emulate --attach` process (P4 switches and
controller) that starts with the last of them and stops with the net. In Mininet's command line, `fibre edge2-core0 down` takes a fibre
pair down.
"""

import os
import sys
from pathlib import Path

# `mn --custom` executes this file's text, and sudo drops PYTHONPATH: the package is that of the clone, or of the environment where
# a wheel was installed.
sys.path.insert(
    0,
    next(
        str(path)
        for root in [Path(sys._getframe().f_code.co_filename).resolve().parents[1]]
        for path in (root / "python", *root.glob("../../lib/python3*/site-packages"))
        if path.is_dir()
    ),
)

from slotwise import LambdaNetwork, OpsMesh, Ring, Star
from slotwise import scenario as scenarios
from slotwise.errors import SlotwiseError, UnknownArgument
from slotwise.live.emulator import OPTIONS, AgileCLI, AgileSwitch, split
from slotwise.live.net import ScenarioTopo
from slotwise.resolved import Resolved
from slotwise.tools.command import MARK, RunDirectory

ATTACHED = "attached"
"""Name of the phase in a run's summary; Mininet generates all its traffic."""


class MarkedTopo(ScenarioTopo):
    """A topology whose processes have the run's directory in their environment, so that scripts/clean-net finds those of a killed `mn`."""

    NAME: str
    EXPECTED: str

    def build(self, *arguments, **options):
        # After an exception `mn` kills all processes with names that it knows, deletes files in /tmp, and exits with
        # status 0. It passes SystemExit on.
        try:
            run, others = split(options)
            scenario = self.scenario(*arguments, **others)
            source = f"{self.NAME}'s scenario"
            scenarios.check(scenario, source, run.get("--target"))
            resolved = Resolved.of(scenario, source)
            self.run = RunDirectory("mn")
        except SlotwiseError as problem:
            sys.exit(f"{self.NAME}: {problem}")
        except (TypeError, ValueError) as problem:
            sys.exit(f"{self.NAME}: {problem}; expected {self.EXPECTED}")
        except OSError as problem:
            sys.exit(f"{self.NAME}: {problem.filename}: {problem.strerror}")
        os.environ[MARK] = self.run.name
        super().build(resolved, AgileSwitch, scenario=scenario, spans=resolved.spans, options=run)

    @staticmethod
    def scenario(*arguments, **options) -> dict:
        """Scenario of the network for these arguments of Mininet."""
        raise NotImplementedError


class AgileStar(MarkedTopo):
    """A star of `edges` edges with `hosts` hosts each. Other parameters as in `slotwise.Star`, and those in `OPTIONS`."""

    NAME = "agilestar"
    EXPECTED = "agilestar,EDGES,HOSTS,NAME=VALUE,..."

    @staticmethod
    def scenario(edges: int = 4, hosts: int = 2, **options) -> dict:
        """Star with one phase, which a scenario requires, without traffic."""
        return Star(edges, hosts, **options).scenario | {
            "phases": [{"name": ATTACHED, "duration_ms": 1000, "flows": []}]
        }


class PacketRing(MarkedTopo):
    """A packet ring of `stations` stations with `hosts` hosts each. Other parameters as in `slotwise.Ring`, and those in `OPTIONS`."""

    NAME = "packetring"
    EXPECTED = "packetring,STATIONS,HOSTS,NAME=VALUE,..."

    @staticmethod
    def scenario(stations: int = 8, hosts: int = 1, **options) -> dict:
        """Ring with one flow, which a scenario requires; it is not generated."""
        return Ring(stations, hosts, **options).scenario | {
            "flows": [{"name": "unplayed", "from": "hosts0", "to": "hosts1"}]
        }


class Mesh(MarkedTopo):
    """A mesh of `switches` optical packet switches with `hosts` hosts at the edge of each. Other parameters as in `slotwise.OpsMesh`,
    and those in `OPTIONS`."""

    NAME = "opsmesh"
    EXPECTED = "opsmesh,SWITCHES,HOSTS,NAME=VALUE,..."

    @staticmethod
    def scenario(switches: int = 5, hosts: int = 1, **options) -> dict:
        """Mesh with the one flow that a scenario needs, which is not generated."""
        return OpsMesh(switches, hosts, **options).scenario | {
            "flows": [{"name": "unplayed", "from": "hosts0", "to": "hosts1"}]
        }


class Lambda(MarkedTopo):
    """Lightpaths between `sites` sites with `hosts` hosts each. Other parameters as in `slotwise.LambdaNetwork`, and those in
    `OPTIONS`."""

    NAME = "lambda"
    EXPECTED = "lambda,SITES,HOSTS,NAME=VALUE,..."

    @staticmethod
    def scenario(sites: int = 4, hosts: int = 1, **options) -> dict:
        """Lambda network with the one flow that a scenario needs, which is not generated."""
        return LambdaNetwork(sites, hosts, **options).scenario | {
            "flows": [{"name": "unplayed", "from": "hosts0", "to": "hosts1"}]
        }


class Agile(MarkedTopo):
    """The network of a scenario file; its traffic is Mininet's. Other parameters are those in `OPTIONS`."""

    NAME = "agile"
    EXPECTED = "agile,FILE,NAME=VALUE,..."

    @staticmethod
    def scenario(file: str, **others) -> dict:
        """Scenario of the file with absolute paths, and with one phase without traffic in place of its phases."""
        for option in others:
            raise UnknownArgument("option", option, OPTIONS, "agile")
        path = Path(str(file))
        scenario = scenarios.placed(scenarios.load(path), path.resolve().parent)
        if "phases" in scenario:
            # What changes at a time is in the file's own time.
            lasts_ms = sum(phase["duration_ms"] for phase in scenario["phases"])
            scenario["phases"] = [{"name": ATTACHED, "duration_ms": lasts_ms, "flows": []}]
        return scenario


topos = {"agilestar": AgileStar, "packetring": PacketRing, "opsmesh": Mesh, "lambda": Lambda, "agile": Agile}
# What `mn` starts.
CLI = AgileCLI
