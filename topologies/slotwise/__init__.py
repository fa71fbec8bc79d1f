# SPDX-License-Identifier: Apache-2.0
"""Build, run and evaluate agile optical stars, router networks, both combined, packet rings, meshes of optical packet switches and lambda networks.

from slotwise import Star
report = Star(edges=4, hosts_per_edge=2).tcp("all", "all").run()
"""

from slotwise.document import RunFailed
from slotwise.errors import (
    InvalidArgument,
    MissingPackage,
    SlotwiseError,
    UnknownArgument,
    UnknownEndpoint,
    UnknownFibre,
    UnknownName,
    UnknownPhase,
    UnknownTable,
)
from slotwise.experiment import Experiment, Star
from slotwise.home import CommandNotFound, HomeNotFound
from slotwise.lambdas import LambdaNetwork
from slotwise.mesh import OpsMesh
from slotwise.network import Network
from slotwise.report import Report, ReportError
from slotwise.ring import Ring
from slotwise.scenario import ScenarioError

__version__ = "0.1.0"
"""Version of the package and of the engine; read by topologies/pyproject.toml and scripts/package."""

__all__ = [
    "CommandNotFound",
    "Experiment",
    "HomeNotFound",
    "InvalidArgument",
    "LambdaNetwork",
    "MissingPackage",
    "Network",
    "OpsMesh",
    "Report",
    "ReportError",
    "Ring",
    "RunFailed",
    "ScenarioError",
    "SlotwiseError",
    "Star",
    "UnknownArgument",
    "UnknownEndpoint",
    "UnknownFibre",
    "UnknownName",
    "UnknownPhase",
    "UnknownTable",
]
