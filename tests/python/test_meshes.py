# SPDX-License-Identifier: Apache-2.0
"""Meshes of optical packet switches in Python, before anything runs."""

import re

import pytest

from slotwise import (
    InvalidArgument,
    LambdaNetwork,
    Network,
    OpsMesh,
    Ring,
    ScenarioError,
    Star,
    UnknownArgument,
    UnknownName,
    scenario,
)
from slotwise.resolved import Resolved
from slotwise.tools import home

PENTAGRAM = ["s0-s1", "s1-s2", "s2-s3", "s3-s4", "s4-s0", "s0-s2", "s1-s3", "s2-s4", "s3-s0", "s4-s1"]


def spans(*arguments, **options) -> list[str]:
    mesh = OpsMesh(*arguments, **options).tcp("hosts0", "hosts1")
    return [name for name in Resolved.of(mesh.scenario).spans if not name.startswith("e")]


def test_a_mesh_is_what_a_scenario_file_may_be():
    mesh = OpsMesh(
        ["a", "b", "c"], 2, edges_per_switch=2, links=[("a", "b"), ("b", "c", 5000)], more={"guard_ns": 100}
    ).tcp("hosts0", "hosts5")
    resolved = Resolved.of(mesh.scenario, "mesh")
    assert resolved.spans == ["a-b", "b-c", "e0-a", "e1-a", "e2-b", "e3-b", "e4-c", "e5-c"]
    assert [link["delay_ns"] for link in mesh.scenario["ops"]["links"]] == [200_000, 5000]
    assert [host.switch for host in resolved.hosts] == [f"o{number // 2}" for number in range(12)]
    assert [host.port for host in resolved.hosts] == [1, 2] * 6


def test_without_links_each_switch_has_the_next_two_as_neighbours():
    assert spans(5) == PENTAGRAM
    assert [spans(1, edges_per_switch=2), spans(2), spans(3), len(spans(4))] == [
        [],
        ["s0-s1"],
        ["s0-s1", "s1-s2", "s2-s0"],
        6,
    ]


def test_edges_by_name_have_spans_of_their_own():
    document = OpsMesh(2).tcp("hosts0", "hosts1").scenario
    document["ops"]["edges"] = [
        {"name": "x", "switch": "s1", "delay_ns": 1},
        {"name": "y", "switch": "s0", "delay_ns": 1},
    ]
    document["hosts"] = [{**group, "at": name} for group, name in zip(document["hosts"], "yx", strict=True)]
    resolved = Resolved.of(document)
    assert resolved.spans == ["s0-s1", "x-s1", "y-s0"]
    assert [host.switch for host in resolved.hosts] == ["o1", "o0"]
    assert [node.label for node in resolved.nodes] == ["x", "y"]


def test_what_a_mesh_does_not_have_is_refused_with_what_it_has(tmp_path):
    mesh = OpsMesh(3)
    with pytest.raises(UnknownName, match="expected one of e0, e1, e2"):
        mesh.hosts("more", "s0")
    with pytest.raises(UnknownArgument, match="rate_bps"):
        OpsMesh(3, rate_bp=1)
    for wrong in (
        {"switches": "abc"},
        {"switches": 10**12},
        {"links": [("a",)]},
        {"links": 5},
        {"more": 5},
        {"edges_per_switch": 0},
        {"edges_per_switch": 10**12},
    ):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            OpsMesh(**wrong)
    for never in (float("inf"), float("nan"), "long"):
        with pytest.raises(InvalidArgument, match=f"expected a time in s, got '?{never}"):
            OpsMesh(seconds=never)
    with pytest.raises(ScenarioError, match="/ops/ram_bytes"):
        OpsMesh(3, ram_bytes=-1).tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")
    with pytest.raises(ScenarioError, match=r"/ops.*expected optical packet switches"):
        OpsMesh.load(home.root() / "topologies" / "ring8.yaml")


def test_a_key_of_the_section_goes_into_more():
    with pytest.raises(
        InvalidArgument, match=r"aggregation: a key of the section ops; expected more=\{'aggregation': ...\}"
    ):
        OpsMesh(3, aggregation={"scheme": "none"})


def test_a_mesh_without_traffic_is_answered_with_how_to_make_some(tmp_path):
    with pytest.raises(ScenarioError, match=r"/flows: .*; expected "):
        OpsMesh(3).save(tmp_path / "mesh.yaml")


def test_switches_and_edges_fail_where_there_are_some():
    mesh = (
        OpsMesh(3)
        .tcp("hosts0", "hosts1")
        .fault("switch-restart", 0.1, 0.02)
        .fault("ops-edge-restart", 0.1, 0.02)
        .fault("messages-corrupted", 0.1, 0.02)
    )
    scenario.check(mesh.scenario, "mesh")
    assert [fault["kind"] for fault in mesh.scenario["faults"]] == [
        "switch-restart",
        "ops-edge-restart",
        "messages-corrupted",
    ]
    with pytest.raises(ScenarioError, match="/faults/3/kind: "):
        mesh.fault("station-restart", 0.1, 0.02).check()


def test_a_value_of_several_forms_is_answered_with_them(tmp_path):
    with pytest.raises(
        ScenarioError,
        match=r"/ops/max_deflections: invalid value; expected none, unlimited, or an integer from 0 to 254",
    ):
        OpsMesh(3, max_deflections="all").tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")
    with pytest.raises(ScenarioError, match=r"/ops/max_deflections: .*; expected "):
        OpsMesh(3, max_deflections=300).tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")


def test_a_span_may_be_named_from_either_end():
    mesh = OpsMesh(3).tcp("hosts0", "hosts1").span_change(1, "s1", "s0", False)
    mesh.check()
    mesh.span_change(1, "s0", "e1", False)
    with pytest.raises(ScenarioError, match=r"/changes/1/span: .*s0-e1.*expected .*s0-s1"):
        mesh.check()


def test_two_edges_are_the_least():
    for wrong in (0, 1, -3, ["alone"]):
        got = len(wrong) if isinstance(wrong, list) else wrong
        with pytest.raises(InvalidArgument, match=f"switches: expected at least two edges, got {got}$"):
            OpsMesh(wrong)
    assert OpsMesh(1, edges_per_switch=2)._nodes() == ["e0", "e1"]


def test_a_scenario_where_a_number_or_name_is_due_is_answered_in_few_words():
    whole = OpsMesh(5).scenario
    for made in (OpsMesh, Network, Ring, Star, LambdaNetwork):
        with pytest.raises(
            InvalidArgument, match=r"got a dictionary; for an existing scenario use Scenario.of"
        ) as refused:
            made(whole)
        assert len(str(refused.value)) < 200
    with pytest.raises(ScenarioError) as refused:
        OpsMesh(5, name={"long": "x" * 1000}).tcp("hosts0", "hosts1").check()
    assert len(str(refused.value)) < 400


def test_flows_take_the_keys_of_a_scenarios_flows():
    mesh = OpsMesh(5).tcp(
        "hosts0",
        "hosts2",
        transport="reno",
        tcp={"paced": True},
        dscp=10,
        packet_stats=True,
        size_bytes=1000,
        start_s=0.5,
        stop_ms=800,
    )
    mesh.udp(
        "hosts0",
        "hosts2",
        1_000_000,
        process="on-off-pareto",
        mean_on_ns=10_000_000,
        mean_off_ns=10_000_000,
        dscp=12,
        packet_bytes=500,
    )
    mesh.web("hosts1", "hosts3", 1_000_000, 10_000, sizes="exponential", window_bytes=65_535)
    mesh.gtp("hosts1", "hosts3", size_bytes=5000, source_limit_bps=100_000, flows_per_pair=2)
    scenario.check(mesh.scenario)
    assert mesh.scenario["flows"] == [
        {
            "name": "flow0",
            "from": "hosts0",
            "to": "hosts2",
            "transport": "reno",
            "tcp": {"paced": True},
            "dscp": 10,
            "packet_stats": True,
            "bytes": 1000,
            "start_ms": 500,
            "stop_ms": 800,
        },
        {
            "name": "flow1",
            "from": "hosts0",
            "to": "hosts2",
            "dscp": 12,
            "packet_bytes": 500,
            "udp": {
                "rate_bps": 1_000_000,
                "process": "on-off-pareto",
                "mean_on_ns": 10_000_000,
                "mean_off_ns": 10_000_000,
            },
        },
        {
            "name": "flow2",
            "from": "hosts1",
            "to": "hosts3",
            "window_bytes": 65_535,
            "web": {"mean_think_ns": 1_000_000, "mean_bytes": 10_000, "sizes": "exponential"},
        },
        {
            "name": "flow3",
            "from": "hosts1",
            "to": "hosts3",
            "flows_per_pair": 2,
            "gtp": {"bytes": 5000, "source_limit_bps": 100_000},
        },
    ]


def test_keys_of_flows_are_the_schemas():
    keys = set(scenario.schema()["properties"]["flows"]["items"]["properties"]) - {"from", "to", "udp", "web", "gtp"}
    for kind in (None, *scenario.KINDS_OF_FLOW):
        assert set(scenario.flow_keys(kind)[0]) == keys
    assert "rate_bps" in scenario.flow_keys("udp")[1]


def test_an_option_of_a_flow_that_is_none_is_refused_with_those_that_are():
    others = "name, flows_per_pair, .*start_s, dscp, start_jitter_s, stop_s, packet_stats"
    for flow, options in (
        ("tcp", "name, flows_per_pair, transport, sack, tcp, window_bytes, size_bytes"),
        ("gtp", "size_bytes, source_limit_bps, alpha, beta, initial_rate_bps, name"),
    ):
        with pytest.raises(
            UnknownArgument, match=f"a flow has no option 'size'; (did you mean .*)?expected one of {options}"
        ) as refused:
            getattr(OpsMesh(3), flow)("hosts0", "hosts1", size=3)
        assert re.search(others, str(refused.value))
    with pytest.raises(ScenarioError, match="/flows/0/transport: "):
        OpsMesh(3).udp("hosts0", "hosts1", 1_000_000, transport="reno").check()
    with pytest.raises(InvalidArgument, match="start_ms: expected one of start_s and start_ms"):
        OpsMesh(3).tcp("hosts0", "hosts1", start_s=1, start_ms=5)
