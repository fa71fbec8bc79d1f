# SPDX-License-Identifier: Apache-2.0
"""Build, run and look at agile stars from Python.

    from slotwise import Star
    report = Star(edges=4, hosts_per_edge=2).tcp("all", "all").run()
"""
from slotwise.experiment import Experiment, Report, RunFailed, Star
from slotwise.scenario import ScenarioError

__all__ = ["Experiment", "Report", "RunFailed", "ScenarioError", "Star"]
