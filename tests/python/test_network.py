# SPDX-License-Identifier: Apache-2.0
"""Networks of any shape: what is built is what the schema takes, and the engine's own example comes out."""

import inspect
from pathlib import Path

import pytest
import yaml

from slotwise import (
    InvalidArgument,
    Network,
    ScenarioError,
    Star,
    UnknownArgument,
    UnknownFibre,
    UnknownName,
    scenario,
)

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "schema" / "examples" / "valid" / "routers.yaml"


def bottleneck() -> Network:
    """Two routers with a slow link between them."""
    network = Network("bottleneck", seconds=2, seed=7).node("left", "right")
    network.link(
        "left", "right", rate_bps=45_000_000, delay_ns=1_000_000, buffer_packets=50, xcp_capacity_bps=45_000_000
    )
    return network.hosts("s", "left", 3, delay_ns=5_000_000).hosts(
        "d", "right", 3, delay_ns=5_000_000, down_delay_ns=7_000_000
    )


def test_a_network_is_what_the_schema_takes(tmp_path):
    network = bottleneck().tcp("s", "d", transport="xcp", name="bulk", start_s=0.01, start_jitter_s=0.1)
    network.tcp("d", "s", size_bytes=100_000).udp(
        "s", "d", 1_000_000, process="on-off-pareto", mean_on_ns=20_000_000, mean_off_ns=30_000_000
    )
    network.web("d", "s", mean_think_ns=100_000_000, mean_bytes=20_000, users=2)
    network.link_change(0.5, "left", "right", every_s=0.2, times=3, rate_bps=30_000_000).hosts_change(
        1, "d", up_delay_ns=9_000_000
    )
    network.link_change(1.2, "right", "left", up=False).fault("link-down", every_s=0.5, for_s=0.05)
    network.fault("messages-lost", every_s=1, for_s=0.1, share=0.25)
    network.save(tmp_path / "network.yaml")
    saved = yaml.safe_load((tmp_path / "network.yaml").read_text())
    assert saved == network.scenario
    assert [link["name"] for link in saved["links"]] == ["left-right", "right-left"]
    assert saved["hosts"][1] == {
        "name": "d",
        "count": 3,
        "at": "right",
        "rate_bps": 1_000_000_000,
        "up_delay_ns": 5_000_000,
        "down_delay_ns": 7_000_000,
        "buffer": {"packets": 100},
    }
    assert [flow["name"] for flow in saved["flows"]] == ["bulk", "flow1", "flow2", "flow3"]
    assert saved["flows"][0] == {
        "name": "bulk",
        "from": "s",
        "to": "d",
        "transport": "xcp",
        "start_ms": 10,
        "start_jitter_ms": 100,
    }
    assert saved["changes"][0] == {
        "at_ms": 500,
        "every_ms": 200,
        "times": 3,
        "link": "left-right",
        "rate_bps": 30_000_000,
    }
    assert saved["faults"] == [
        {"kind": "link-down", "every_ms": 500, "for_ms": 50},
        {"kind": "messages-lost", "every_ms": 1000, "for_ms": 100, "share": 0.25},
    ]


def test_what_the_engine_has_as_an_example_is_taken():
    assert scenario.check(yaml.safe_load(EXAMPLE.read_text()))["name"] == "two-paths"


@pytest.mark.parametrize(
    "build, said",
    [
        (
            lambda network: network.link("left", "rigth", rate_bps=1_000_000, delay_ns=0),
            "has no node 'rigth'; did you mean 'right'?",
        ),
        (lambda network: network.hosts("x", "middle"), "has no node 'middle'"),
        (lambda network: network.tcp("s", "e"), "has no group of hosts 'e'"),
        (
            lambda network: network.link_change(1, "right", "middle", rate_bps=1),
            "has no link 'right-middle'; did you mean 'right-left'?",
        ),
    ],
)
def test_names_that_are_not_there_are_refused_with_those_that_are(build, said):
    with pytest.raises(UnknownName, match="scenario 'bottleneck'") as refused:
        build(bottleneck())
    assert said in str(refused.value)


def test_arguments_that_cannot_be_are_refused():
    with pytest.raises(UnknownArgument, match="start"):
        bottleneck().tcp("s", "d", start=1)
    with pytest.raises(ScenarioError, match="/faults/0/share: "):
        bottleneck().tcp("s", "d").fault("link-down", 1, 1, share=0.5).check()
    with pytest.raises(ScenarioError, match="/faults/0/kind: "):
        bottleneck().tcp("s", "d").fault("edge-restart", 1, 1).check()
    with pytest.raises(InvalidArgument, match="expected one of them"):
        bottleneck().hosts("x", "left", buffer_packets=1, buffer_bytes=1)
    with pytest.raises(InvalidArgument, match="already"):
        bottleneck().node("left")


@pytest.mark.parametrize(
    "run, option",
    [
        ("simulate", {"scheduler": "islip"}),
        ("simulate", {"sample_frames": 5}),
        ("run", {"columns": "here"}),
        ("simulate", {"sede": 1}),
    ],
)
def test_a_run_has_the_options_that_routers_have(run, option):
    with pytest.raises(
        UnknownArgument, match=f"a run of scenario 'bottleneck' has no option '{next(iter(option))}'"
    ) as caught:
        getattr(bottleneck().tcp("s", "d"), run)(**option)
    assert str(caught.value).endswith(", columns" if run == "simulate" else ", target")


def test_what_is_wrong_is_said_with_the_line_that_said_so():
    network = bottleneck().tcp("s", "d")
    network.hosts("far", "left", delay_ns=2_000_000_000)
    with pytest.raises(ScenarioError) as refused:
        network.simulate(quiet=True)
    problems = refused.value.problems
    assert sorted(problem.pointer for problem in problems) == ["/hosts/2/down_delay_ns", "/hosts/2/up_delay_ns"]
    assert all(problem.place.startswith(__file__) for problem in problems)


def mix() -> Network:
    """The bottleneck behind edge 2 of a star."""
    return (
        bottleneck()
        .star(3, [1, 1, 0])
        .link("right", "edge2", rate_bps=400_000_000, delay_ns=10_000, xcp_capacity_bps=400_000_000)
    )


def test_with_a_star_it_has_what_stars_have(tmp_path):
    network = bottleneck().star(3, [1, 3, 0])
    network.link("right", "edge2", rate_bps=400_000_000, delay_ns=10_000).controller(metric="delay").tcp(
        "s", "edge1", transport="xcp"
    )
    network.phase("quiet", 0.5).phase("busy", 1).traffic("tcp", "edge1", "edge0", streams=2).file("h0_0", "h1_0", 10)
    network.fibre_change(0.7, edge=1, loss=0.001).scheduler_change(0.8, "islip").clocks(max_offset_ns=1000).optics(
        {1: 2500}
    )
    network.fault("link-down", 0.5, 0.05, edge=1).fault("router-restart", 0.5, 0.01).fault(
        "clock-step", 0.5, min_ns=10, max_ns=20, edge=1
    )
    network.link_change(0.9, "right", "edge2", delay_ns=20_000)
    network.save(tmp_path / "network.yaml")
    saved = scenario.load(tmp_path / "network.yaml")
    assert "duration_ms" not in saved, "its phases say how long it runs"
    assert [(phase["name"], phase["duration_ms"]) for phase in saved["phases"]] == [("quiet", 500), ("busy", 1000)]
    assert saved["phases"][1]["flows"] == [
        {"from": "edge1", "to": "edge0", "tcp": {"streams": 2}},
        {"from": "h0_0", "to": "h1_0", "file": {"bytes": 10}},
    ]
    assert saved["changes"] == [
        {"at_ms": 700, "core": 0, "edge": 1, "loss": 0.001},
        {"at_ms": 800, "scheduler": "islip"},
        {"at_ms": 900, "link": "right-edge2", "delay_ns": 20_000},
    ]
    assert saved["clocks"]["max_offset_ns"] == 1000
    assert [edge["fibres"][0]["attenuation_mdb"] for edge in saved["edges"]] == [0, 2500, 0]
    assert saved["faults"] == [
        {"kind": "link-down", "every_ms": 500, "for_ms": 50, "edge": 1},
        {"kind": "router-restart", "every_ms": 500, "for_ms": 10},
        {"kind": "clock-step", "every_ms": 500, "min_ns": 10, "max_ns": 20, "edge": 1},
    ]
    assert saved["controller"] == {
        "scheduler": "fair",
        "control_latency_ns": 200_000,
        "beacon_hold_frames": 1,
        "metric": "delay",
    }


def test_what_the_controller_was_told_before_a_star_stays():
    network = bottleneck().controller(metric="delay", control_latency_ns=5).star(2, beacon_hold_frames=3)
    assert network.scenario["controller"] == {
        "scheduler": "fair",
        "control_latency_ns": 5,
        "beacon_hold_frames": 3,
        "metric": "delay",
    }
    again = bottleneck().controller(control_latency_ns=5).star(2, control_latency_ns=7)
    assert again.scenario["controller"]["control_latency_ns"] == 7


@pytest.mark.parametrize(
    "build, refused, said",
    [
        (lambda network: network.fibre_change(1, edge=1, core=1, up=False), UnknownFibre, "no fibre 'edge1-core1'"),
        (lambda network: network.star(2), InvalidArgument, "already has a star"),
    ],
)
def test_what_a_mix_does_not_have_is_refused(build, refused, said):
    network = mix()
    before = mix().scenario
    with pytest.raises(refused, match=said):
        build(network)
    assert network.scenario == before


@pytest.mark.parametrize(
    "build, said",
    [
        (lambda network: network.traffic("tcp"), "has no star; expected one for traffic of phases"),
        (lambda network: network.scheduler_change(1, "fair"), "has no star; expected one for a scheduler"),
        (lambda network: network.clocks(), "has no star; expected one for clocks"),
        (lambda network: network.optics(), "has no star; expected one for optics"),
        (lambda network: network.star(2, seed=3), "seed: scenario 'bottleneck' already has one"),
    ],
)
def test_what_needs_a_star_is_refused_without(build, said):
    network = bottleneck()
    with pytest.raises(InvalidArgument, match=said):
        build(network)
    assert network.scenario == bottleneck().scenario


@pytest.mark.parametrize(
    "build, pointer",
    [
        (lambda network: network.traffic("tcp", "edge9", "all"), "/phases/0/flows/0/from"),
        (lambda network: network.traffic("tcp", "s", "all"), "/phases/0/flows/0/from"),
        (lambda network: network.file("h0_0", "h1_4", 1), "/phases/0/flows/0/to"),
        (lambda network: network.tcp("nobody", "s"), "/flows/1/from"),
        (lambda network: network.fault("edge-restart", 1, 1, edge=3), "/faults/0/edge"),
    ],
)
def test_what_only_the_engine_knows_is_refused_with_the_line_that_added_it(build, pointer):
    network = mix().tcp("s", "d")
    build(network)
    with pytest.raises(ScenarioError) as refused:
        network.check()
    (problem,) = [problem for problem in refused.value.problems if problem.pointer == pointer]
    assert problem.place.startswith(__file__) and problem.expected


def test_a_star_alone_has_no_flows_over_the_run():
    network = Network("alone").star(6, 4)
    network.tcp("edge0", "edge1", size_bytes=1_000_000)
    with pytest.raises(ScenarioError, match="scenario 'alone': /routers"):
        network.check()
    network.node("unused").link("unused", "edge0", rate_bps=1_000_000, delay_ns=0)
    assert scenario.check(network.scenario)
    document = Star(3).tcp().scenario | {"flows": [{"name": "one", "from": "edge0", "to": "edge1", "bytes": 1000}]}
    with pytest.raises(ScenarioError, match="/flows: "):
        scenario.check(document)


def test_a_network_without_nodes_is_refused():
    with pytest.raises(ScenarioError) as refused:
        Network("empty").check()
    assert "/routers" in {problem.pointer for problem in refused.value.problems}


def test_a_flood_of_problems_is_counted():
    network = bottleneck()
    network.scenario["flows"] = [
        {"name": f"f{number}", "from": "s", "to": "d", "colour": "red"} for number in range(300)
    ]
    with pytest.raises(ScenarioError) as refused:
        network.check()
    lines = str(refused.value).splitlines()
    assert (len(refused.value.problems), len(lines)) == (300, 21)
    assert lines[-1] == "scenario 'bottleneck': and 280 more problems"


def test_a_run_of_a_mix_has_the_options_of_stars(command):
    place = command({"verdict": {"ok": True, "failures": [], "notes": []}, "phases": []}, 0)
    mix().tcp("s", "d").simulate(scheduler="islip", sample_frames=5, columns=place)
    assert (place / "arguments").read_text().split()[4:] == [
        "--columns",
        str(place),
        "--sample-frames",
        "5",
        "--until-input-ends",
    ]
    assert yaml.safe_load((place / "scenario.yaml").read_text())["controller"]["scheduler"] == "islip"


def test_what_is_wrong_with_a_mix_is_said_with_the_line_that_said_so():
    network = bottleneck()
    network.hosts("far", "left", delay_ns=2_000_000_000)
    line = inspect.currentframe().f_lineno - 1
    network.star(2, rate_bps=1)
    star_line = inspect.currentframe().f_lineno - 1
    network.traffic("tcp", "edge0", "edge1", rate_bp=1)
    with pytest.raises(ScenarioError) as refused:
        network.simulate(quiet=True)
    places = {problem.pointer: problem.place for problem in refused.value.problems}
    assert places == {
        "/hosts/groups/2/up_delay_ns": f"{__file__}:{line}",
        "/hosts/groups/2/down_delay_ns": f"{__file__}:{line}",
        "/edges/0/fibres/0/rate_bps": f"{__file__}:{star_line}",
        "/edges/1/fibres/0/rate_bps": f"{__file__}:{star_line}",
        "/phases/0/flows/0/tcp/rate_bp": f"{__file__}:{star_line + 2}",
    }


def test_sessions_of_gtp_and_what_their_hosts_share():
    network = (
        Network("lambda", seconds=1)
        .node("left", "right")
        .link("left", "right", rate_bps=1_000_000_000, delay_ns=1_000_000)
    )
    network.hosts("s", "left").hosts("d", "right", gtp={"capacity_bps": 800_000_000, "near_target": "capped"})
    network.gtp("s", "d", size_bytes=1_000_000, source_limit_bps=500_000_000, alpha=0.1, start_s=0.1).gtp(
        "s", "d", name="rest"
    )
    assert network.scenario["hosts"][1]["gtp"] == {"capacity_bps": 800_000_000, "near_target": "capped"}
    assert "gtp" not in network.scenario["hosts"][0]
    assert network.scenario["flows"] == [
        {
            "name": "flow0",
            "from": "s",
            "to": "d",
            "gtp": {"bytes": 1_000_000, "source_limit_bps": 500_000_000, "alpha": 0.1},
            "start_ms": 100,
        },
        {"name": "rest", "from": "s", "to": "d", "gtp": {}},
    ]
    scenario.check(network.scenario)
    with pytest.raises(UnknownName):
        network.gtp("s", "nobody")
