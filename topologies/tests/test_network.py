# SPDX-License-Identifier: Apache-2.0
"""Networks of any shape: what is built is what the schema takes, and the engine's own example comes out."""
from pathlib import Path

import pytest
import yaml

from slotwise import InvalidArgument, Network, ScenarioError, UnknownArgument, UnknownName, scenario

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "schema" / "examples" / "valid" / "routers.yaml"


def bottleneck() -> Network:
    """Two routers with a slow link between them."""
    network = Network("bottleneck", seconds=2, seed=7).node("left", "right")
    network.link("left", "right", rate_bps=45_000_000, delay_ns=1_000_000, buffer_packets=50, xcp_bps=45_000_000)
    return network.hosts("s", "left", 3, delay_ns=5_000_000).hosts("d", "right", 3, delay_ns=5_000_000, down_delay_ns=7_000_000)


def test_a_network_is_what_the_schema_takes(tmp_path):
    network = bottleneck().tcp("s", "d", transport="xcp", name="bulk", start_s=0.01, spread_s=0.1)
    network.tcp("d", "s", size_bytes=100_000).udp("s", "d", 1_000_000, "on-off-pareto", mean_on_ns=20_000_000, mean_off_ns=30_000_000)
    network.web("d", "s", mean_think_ns=100_000_000, mean_bytes=20_000, users=2)
    network.link_change(0.5, "left", "right", every_s=0.2, times=3, rate_bps=30_000_000).hosts_change(1, "d", up_delay_ns=9_000_000)
    network.link_change(1.2, "right", "left", up=False).fault("link-cut", every_s=0.5, for_s=0.05)
    network.fault("messages-lost", every_s=1, for_s=0.1, share=0.25)
    network.save(tmp_path / "network.yaml")
    saved = yaml.safe_load((tmp_path / "network.yaml").read_text())
    assert saved == network.scenario
    assert [link["name"] for link in saved["links"]] == ["left-right", "right-left"]
    assert saved["hosts"][1] == {"name": "d", "count": 3, "router": "right", "rate_bps": 1_000_000_000, "up_delay_ns": 5_000_000,
                                 "down_delay_ns": 7_000_000, "buffer": {"packets": 100}}
    assert [flow["name"] for flow in saved["flows"]] == ["bulk", "flow1", "flow2", "flow3"]
    assert saved["flows"][0] == {"name": "bulk", "from": "s", "to": "d", "transport": "xcp", "start_ms": 10, "spread_ms": 100}
    assert saved["changes"][0] == {"at_ms": 500, "every_ms": 200, "times": 3, "link": "left-right", "rate_bps": 30_000_000}
    assert saved["faults"] == [{"kind": "link-cut", "every_ms": 500, "for_ms": 50},
                               {"kind": "messages-lost", "every_ms": 1000, "for_ms": 100, "share": 0.25}]


def test_what_the_engine_has_as_an_example_is_taken():
    assert scenario.check(yaml.safe_load(EXAMPLE.read_text()))["name"] == "two-paths"


@pytest.mark.parametrize("build, said", [
    (lambda network: network.link("left", "rigth", rate_bps=1_000_000, delay_ns=0), "has no node 'rigth'; did you mean 'right'?"),
    (lambda network: network.hosts("x", "middle"), "has no node 'middle'"),
    (lambda network: network.tcp("s", "e"), "has no group of hosts 'e'"),
    (lambda network: network.link_change(1, "right", "middle", rate_bps=1), "has no link 'right-middle'; did you mean 'right-left'?"),
    (lambda network: network.fault("edge-restart", 1, 1), "has no kind of fault 'edge-restart'"),
])
def test_names_that_are_not_there_are_refused_with_those_that_are(build, said):
    with pytest.raises(UnknownName, match="scenario 'bottleneck'") as refused:
        build(bottleneck())
    assert said in str(refused.value)


def test_arguments_that_cannot_be_are_refused():
    with pytest.raises(UnknownArgument, match="start"):
        bottleneck().tcp("s", "d", start=1)
    with pytest.raises(UnknownArgument, match="link-cut has no option 'share'"):
        bottleneck().fault("link-cut", 1, 1, share=0.5)
    with pytest.raises(InvalidArgument, match="expected one of them"):
        bottleneck().hosts("x", "left", buffer_packets=1, buffer_bytes=1)
    with pytest.raises(InvalidArgument, match="already"):
        bottleneck().node("left")


@pytest.mark.parametrize("run, option", [
    ("simulate", {"scheduler": "islip"}), ("simulate", {"sample_frames": 5}), ("run", {"columns": "here"}), ("simulate", {"sede": 1}),
])
def test_a_run_has_the_options_that_routers_have(run, option):
    with pytest.raises(UnknownArgument, match=f"a run of scenario 'bottleneck' has no option '{next(iter(option))}'"):
        getattr(bottleneck().tcp("s", "d"), run)(**option)


def test_what_is_wrong_is_said_with_the_line_that_said_so():
    network = bottleneck().tcp("s", "d")
    network.hosts("far", "left", delay_ns=2_000_000_000)
    with pytest.raises(ScenarioError) as refused:
        network.simulate()
    problems = refused.value.problems
    assert [problem.pointer for problem in problems] == ["/hosts/2/down_delay_ns", "/hosts/2/up_delay_ns"]
    assert all(problem.place.startswith(__file__) for problem in problems)
