# SPDX-License-Identifier: Apache-2.0
"""Which flows traffic entries stand for."""

import json

import pytest

from slotwise.live.traffic import flows, kernel_congestion_control, phase_count, run_flows
from slotwise.scenario import load
from slotwise.tools import home


def pairs(scenario: dict, source: str, destination: str, kind: str = "tcp") -> list[tuple[str, str]]:
    scenario["phases"][0]["flows"] = [{"from": source, "to": destination, **({} if kind == "tcp" else {kind: {}})}]
    return [(flow.source.name, flow.destination.name) for flow in flows(scenario, 0)]


def test_all_to_all_connects_every_edge_pair_by_every_source(star):
    found = pairs(star, "all", "all")
    assert len(found) == 2 * 4 * 3
    edges = [(source.split("_")[0], destination.split("_")[0]) for source, destination in found]
    assert all(edges.count(pair) == 2 for pair in edges)
    assert all(source != destination for source, destination in edges)
    assert found[:4] == [("h0_0", "h1_0"), ("h0_0", "h2_0"), ("h0_0", "h3_0"), ("h0_1", "h1_1")]


def test_fewer_hosts_at_the_destination_are_shared(star):
    star["edges"][1]["hosts"] = 1
    assert pairs(star, "edge0", "edge1") == [("h0_0", "h1_0"), ("h0_1", "h1_0")]


@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        ("edge1", "edge2", [("h1_0", "h2_0"), ("h1_1", "h2_1")]),
        ("h1_1", "edge2", [("h1_1", "h2_1")]),
        ("edge1", "h2_1", [("h1_0", "h2_1"), ("h1_1", "h2_1")]),
        ("h1_0", "h3_1", [("h1_0", "h3_1")]),
        ("h1_0", "h1_1", [("h1_0", "h1_1")]),
        ("edge1", "h1_0", []),
        ("edge1", "edge1", []),
        ("edge9", "all", []),
        ("h0_7", "all", []),
        (
            "all",
            "h2_0",
            [
                ("h0_0", "h2_0"),
                ("h0_1", "h2_0"),
                ("h1_0", "h2_0"),
                ("h1_1", "h2_0"),
                ("h3_0", "h2_0"),
                ("h3_1", "h2_0"),
            ],
        ),
    ],
)
def test_endpoints(star, source, destination, expected):
    assert pairs(star, source, destination) == expected


def test_traffic_of_a_mix_is_between_hosts_of_edges_as_the_engine_has_them(hosts_told):
    examples = home.root() / "schema" / "examples"
    document = load(examples / "valid" / "mixed.yaml")
    told = hosts_told(json.loads((examples / "networks" / "mixed.json").read_text()))
    document["phases"][1]["flows"] = [{"from": "all", "to": "all"}]
    found = flows(document, 1)
    assert [(flow.source.name, flow.destination.name) for flow in found] == [
        ("h0_0", "h1_0"),
        ("h0_1", "h1_0"),
        ("h1_0", "h0_0"),
    ]
    for flow in found:
        for end in (flow.source, flow.destination):
            assert (end.switch, end.access_port, end.ip, end.mac) == told[end.name]


def test_flows_keep_their_entry(star):
    star["phases"][0]["flows"] = [
        {"from": "edge0", "to": "edge1", "tcp": {"streams": 3}},
        {"from": "h1_0", "to": "h3_1", "file": {"bytes": 10}},
    ]
    found = flows(star, 0)
    assert [(flow.entry, flow.kind) for flow in found] == [(0, "tcp"), (0, "tcp"), (1, "file")]
    assert found[0].options["streams"] == 3


def test_a_transport_has_the_kernels_name():
    assert kernel_congestion_control({}) == "cubic"
    assert [kernel_congestion_control({"transport": name}) for name in ("cubic", "highspeed", "newreno", "reno")] == [
        "cubic",
        "highspeed",
        "reno",
        "reno",
    ]


def test_flows_between_routers_start_one_after_the_other():
    network = load(home.root() / "topologies" / "routers4.yaml")
    assert phase_count(network) == 1
    assert not flows(network, 0)
    found = run_flows(network, 6000)
    assert [(flow.source.name, flow.destination.name, flow.kind, flow.start_ms, flow.entry) for flow in found] == [
        ("server.0", "client.0", "tcp", 0, 0),
        ("server.1", "client.1", "tcp", 5, 0),
        ("client.0", "server.0", "udp", 0, 1),
        ("client.1", "server.1", "udp", 5, 1),
    ]
    assert found[2].options == {"kind": "udp", "rate_bps": 981333, "payload_bytes": 1472}
    network["flows"][0]["start_ms"] = 3000
    assert [flow.start_ms for flow in run_flows(network, 1000)] == [500, 500, 0, 0]
    assert [flow.start_ms for flow in run_flows(network, 6000)] == [3000, 3005, 0, 5]


def test_of_a_mix_flows_over_the_run_are_no_phases_flows():
    mix = load(home.root() / "topologies" / "mixed.yaml")
    mix["flows"][2]["start_ms"] = 4000
    assert not flows(mix, 0)
    assert [(flow.source.name, flow.name) for flow in flows(mix, 1)] == [("h1_0", None), ("h1_1", None)]
    found = run_flows(mix, 3000)
    assert [
        (flow.name, flow.source.name, flow.destination.name, flow.entry, flow.phase, flow.start_ms) for flow in found
    ] == [
        ("across.0", "lab.0", "far.0", 0, 1, 0),
        ("across.1", "lab.1", "far.1", 0, 1, 2),
        ("wide.0", "desk.0", "h0_0", 1, 1, 0),
        ("down.0", "h1_0", "lab.0", 2, 1, 2000),
        ("down.1", "h1_1", "lab.1", 2, 1, 2002),
    ]
