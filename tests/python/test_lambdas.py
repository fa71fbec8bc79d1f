# SPDX-License-Identifier: Apache-2.0
"""Lambda networks in Python, before anything runs."""

import pytest

from slotwise import InvalidArgument, LambdaNetwork, ScenarioError, UnknownArgument, UnknownName, builders, scenario


def test_a_lambda_network_is_what_a_scenario_file_may_be():
    made = LambdaNetwork(
        ["a", "b", "c"], 2, lambdas=[("a", "b"), ("b", "c", 5000)], gtp={"near_target": "capped"}, by_controller=True
    )
    made.gtp("hosts0", "hosts2", size_bytes=1000, initial_rate_bps=1_000_000).gtp(
        "hosts1", "hosts2", start_s=1, stop_s=2, name="stream"
    )
    scenario.check(made.scenario, "lambda network")
    assert [(link["name"], link["delay_ns"]) for link in made.scenario["links"]] == [
        ("a-b", 10_000_000),
        ("b-a", 10_000_000),
        ("b-c", 5000),
        ("c-b", 5000),
    ]
    assert [host.switch for host in scenario.routed_hosts(made.scenario)] == ["r0", "r0", "r1", "r1", "r2", "r2"]
    assert all(group["gtp"] == {"near_target": "capped"} for group in made.scenario["hosts"])
    assert made.scenario["controller"] == {"control_latency_ns": 1_000_000, "metric": "delay", "lambda": True}
    assert made.scenario["flows"][1] == {
        "name": "stream",
        "from": "hosts1",
        "to": "hosts2",
        "gtp": {},
        "start_ms": 1000,
        "stop_ms": 2000,
    }


def test_without_lambdas_every_two_sites_have_one():
    names = [link["name"] for link in builders.lambda_network(3)["links"]]
    assert names == ["site0-site1", "site1-site0", "site0-site2", "site2-site0", "site1-site2", "site2-site1"]


def test_more_can_be_added_as_to_any_network_of_routers():
    made = LambdaNetwork(2).node("far").link("site1", "far", rate_bps=10**9, delay_ns=1).hosts("more", "far")
    made.gtp("hosts0", "more").link_change(1, "site1", "far", up=False)
    scenario.check(made.scenario, "lambda network")


def test_what_a_lambda_network_does_not_have_is_refused_with_what_it_has(tmp_path):
    made = LambdaNetwork(2)
    with pytest.raises(UnknownName, match="expected one of hosts0, hosts1"):
        made.gtp("hosts0", "hosts2")
    with pytest.raises(UnknownName, match="expected one of site0, site1"):
        made.hosts("more", "site2")
    with pytest.raises(UnknownName, match=r"no site 'c'.*expected one of a, b"):
        builders.lambda_network(["a", "b"], lambdas=[("a", "c")])
    with pytest.raises(UnknownArgument, match="lambda_bps"):
        LambdaNetwork(2, lambda_bp=1)
    for wrong in ({"sites": "abc"}, {"lambdas": [("a",)]}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            builders.lambda_network(**wrong)
    with pytest.raises(ScenarioError, match=r"/hosts/0/gtp/alpha.*test_lambdas\.py:\d+"):
        LambdaNetwork(2, gtp={"alpha": 2}).gtp("hosts0", "hosts1").save(tmp_path / "lambda.yaml")
