# SPDX-License-Identifier: Apache-2.0
"""Meshes of optical packet switches in Python, before anything runs."""
import json

import pytest

from slotwise import InvalidArgument, OpsMesh, ScenarioError, UnknownArgument, UnknownName, builders, home, scenario

PENTAGRAM = ["s0-s1", "s1-s2", "s2-s3", "s3-s4", "s4-s0", "s0-s2", "s1-s3", "s2-s4", "s3-s0", "s4-s1"]


def spans(*arguments, **options) -> list[str]:
    document = builders.ops(*arguments, **options)
    return [name for name in scenario.fibre_names(document) if not name.startswith("e")]


def test_a_mesh_is_what_a_scenario_file_may_be():
    mesh = OpsMesh(["a", "b", "c"], 2, edges_per_switch=2, links=[("a", "b"), ("b", "c", 5000)], more={"guard_ns": 100}).tcp("hosts0", "hosts5")
    scenario.check(mesh.scenario, "mesh")
    assert scenario.fibre_names(mesh.scenario) == ["a-b", "b-c", "e0-a", "e1-a", "e2-b", "e3-b", "e4-c", "e5-c"]
    assert [link["delay_ns"] for link in mesh.scenario["ops"]["links"]] == [200_000, 5000]
    assert [host.switch for host in scenario.routed_hosts(mesh.scenario)] == [f"o{number // 2}" for number in range(12)]
    assert [host.access_port for host in scenario.routed_hosts(mesh.scenario)] == [1, 2] * 6


def test_without_links_each_switch_has_the_next_two_as_neighbours():
    assert spans(5) == PENTAGRAM
    assert [spans(1), spans(2), spans(3), len(spans(4))] == [[], ["s0-s1"], ["s0-s1", "s1-s2", "s2-s0"], 6]


def test_edges_by_name_have_spans_of_their_own():
    document = builders.ops(2)
    document["ops"]["edges"] = [{"name": "x", "switch": "s1", "delay_ns": 1}, {"name": "y", "switch": "s0", "delay_ns": 1}]
    assert scenario.fibre_names(document) == ["s0-s1", "x-s1", "y-s0"]
    document["hosts"] = [{**group, "edge": name} for group, name in zip(document["hosts"], "yx")]
    assert [host.switch for host in scenario.routed_hosts(document)] == ["o1", "o0"]


def test_what_a_mesh_does_not_have_is_refused_with_what_it_has(tmp_path):
    mesh = OpsMesh(3)
    with pytest.raises(UnknownName, match="s0-s1, s1-s2, s2-s0, e0-s0, e1-s1, e2-s2"):
        mesh.span_change(1, "s0", "e1", False)
    with pytest.raises(UnknownName, match="it has e0, e1, e2"):
        mesh.hosts("more", "s0")
    with pytest.raises(UnknownArgument, match="rate_bps"):
        OpsMesh(3, rate_bp=1)
    for wrong in ({"switches": "abc"}, {"switches": 10**12}, {"links": [("a",)]}, {"links": 5}, {"more": 5}, {"edges_per_switch": 0}, {"edges_per_switch": 10**12}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            builders.ops(**wrong)
    for never in (float("inf"), float("nan"), "long"):
        with pytest.raises(InvalidArgument, match=f"expected a time in s, got '?{never}"):
            builders.ops(seconds=never)
    with pytest.raises(ScenarioError, match="/ops/ram_bytes"):
        OpsMesh(3, ram_bytes=-1).tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")
    with pytest.raises(ScenarioError, match="/ops.*expected optical packet switches"):
        OpsMesh.load(scenario.home.root() / "topologies" / "ring8.yaml")


def test_a_key_of_the_section_goes_into_more():
    with pytest.raises(InvalidArgument, match=r"aggregation: a key of the section ops; expected more=\{'aggregation': ...\}"):
        OpsMesh(3, aggregation={"scheme": "none"})
    section = json.loads((home.root() / "schema" / "scenario.schema.json").read_text())["$defs"]["ops"]["properties"]
    own = {"switches", "links", "edges", "rate_bps", "ram_bytes", "deflections"}
    assert builders.OPS_KEYS == set(section) - own, "all others that a file may have"


def test_a_mesh_without_traffic_is_answered_with_how_to_make_some(tmp_path):
    with pytest.raises(ScenarioError, match="/flows: no flows; expected at least one, in Python by tcp, udp, web or gtp"):
        OpsMesh(3).save(tmp_path / "mesh.yaml")


def test_switches_and_edges_fail_where_there_are_some():
    mesh = OpsMesh(3).tcp("hosts0", "hosts1").fault("switch-restart", 0.1, 0.02).fault("opsedge-restart", 0.1, 0.02).fault("messages-corrupted", 0.1, 0.02)
    scenario.check(mesh.scenario, "mesh")
    assert [fault["kind"] for fault in mesh.scenario["faults"]] == ["switch-restart", "opsedge-restart", "messages-corrupted"]
    with pytest.raises(UnknownName, match="no kind of fault 'station-restart'.*switch-restart"):
        mesh.fault("station-restart", 0.1, 0.02)


def test_a_value_of_several_forms_is_answered_with_them(tmp_path):
    with pytest.raises(ScenarioError, match="/ops/deflections: 'all' cannot be; expected none or unlimited or an integer from 0 to 254"):
        OpsMesh(3, deflections="all").tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")
    with pytest.raises(ScenarioError, match="/ops/deflections: 300 is greater than the maximum of 254"):
        OpsMesh(3, deflections=300).tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")


def test_a_span_may_be_named_from_either_end():
    mesh = OpsMesh(3).span_change(1, "s1", "s0", False)
    assert mesh.scenario["changes"] == [{"at_ms": 1000, "span": "s0-s1", "up": False}]


def test_options_of_a_flow_are_listed_whole():
    for flow, options in (("tcp", "transport, sack, size_bytes, name"), ("gtp", "size_bytes, limit_bps, alpha, beta, begin_bps, name")):
        with pytest.raises(UnknownArgument, match=f"a flow has no option 'size'; it has {options}|did you mean .*it has {options}"):
            getattr(OpsMesh(3), flow)("hosts0", "hosts1", size=3)
