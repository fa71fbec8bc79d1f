# SPDX-License-Identifier: Apache-2.0
"""Rings in Python, before anything runs."""

import pytest

from slotwise import InvalidArgument, Ring, ScenarioError, UnknownArgument, UnknownName, builders, scenario


def test_a_ring_is_what_a_scenario_file_may_be():
    ring = Ring(["a", "b", "c"], 2, mode="adaptive", threshold=0.9, open=True).tcp("hosts0", "hosts2")
    scenario.check(ring.scenario, "ring")
    assert scenario.fibre_names(ring.scenario) == ["a-b", "b-c"]
    assert [host.switch for host in scenario.routed_hosts(ring.scenario)] == ["s0", "s0", "s1", "s1", "s2", "s2"]
    assert scenario.fibre_names(builders.ring(2)) == ["station0-station1", "station1-station0"]


def test_what_a_ring_does_not_have_is_refused_with_what_it_has():
    ring = Ring(3)
    with pytest.raises(UnknownName, match="station0-station1, station1-station2, station2-station0"):
        ring.span_change(1, "station0", "station2", False)
    with pytest.raises(UnknownName, match="expected one of station0, station1, station2"):
        ring.hosts("more", "station3")
    with pytest.raises(UnknownName, match="expected one of hosts0, hosts1, hosts2"):
        ring.tcp("hosts0", "hosts3")
    with pytest.raises(UnknownName, match=r"no fault type 'router-restart'.*station-restart"):
        ring.fault("station-restart", 1, 0.1).fault("router-restart", 1, 0.1)
    with pytest.raises(UnknownArgument, match="rate_bps"):
        Ring(3, rate_bp=1)
    with pytest.raises(InvalidArgument, match="a list of names"):
        Ring("abc")
    with pytest.raises(InvalidArgument, match="a list of names"):
        Ring([{"name": "a"}, {"name": "b"}])


def test_a_problem_is_said_with_its_place(tmp_path):
    with pytest.raises(ScenarioError, match=r"/ring/mode.*test_rings\.py:\d+"):
        Ring(3, mode="unfair").tcp("hosts0", "hosts1").save(tmp_path / "ring.yaml")
    with pytest.raises(ScenarioError, match=r"/ring.*expected a packet ring"):
        Ring.load(scenario.home.root() / "topologies" / "routers4.yaml")
