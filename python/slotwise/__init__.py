# SPDX-License-Identifier: Apache-2.0
"""Build, run and evaluate agile optical stars, router networks, both combined, packet rings, meshes of optical packet switches and lambda networks.

from slotwise import Star
report = Star(edges=4, hosts_per_edge=2).tcp("all", "all").run()
"""

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
from slotwise.kinds.lambdas import LambdaNetwork
from slotwise.kinds.ops import OpsMesh
from slotwise.kinds.ring import Ring
from slotwise.kinds.routed import Network
from slotwise.kinds.star import Experiment, Star
from slotwise.network import RunFailed
from slotwise.results.report import Report, ReportError
from slotwise.scenario import ScenarioError
from slotwise.tools.home import CommandNotFound, HomeNotFound

__version__ = "0.1.0"
"""Version of the package and of the engine; read by python/pyproject.toml and scripts/package."""

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
