# SPDX-License-Identifier: Apache-2.0
"""XCP routers behind edges of a star, one controller with both applications: in virtual time, by faults, and live."""
import json
from pathlib import Path

import jsonschema
import pytest

from slotwise import Network
from test_runs import ROOT, load_report, slotwise

SCENARIO = ROOT / "topologies" / "mixed.yaml"
NOTHING_BROKEN = {"collision": 0, "guard": 0, "ungranted": 0, "duplicate": 0, "astray": 0, "first": []}


def simulated(scenario: Path, path: Path, *arguments) -> dict:
    """The report of a run in which all was well."""
    done = slotwise("simulate", scenario, "--report", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    schema = json.loads((ROOT / "schema" / "report.schema.json").read_text())
    assert not list(jsonschema.Draft202012Validator(schema).iter_errors(report))
    assert report["invariants"] == NOTHING_BROKEN
    return report


def goodputs_bps(report: dict) -> dict[str, float]:
    """Of the flows over the whole run, by group."""
    found: dict[str, float] = {}
    for flow in report["phases"][-1]["flows"]:
        if "name" in flow:
            group = flow["name"].split(".")[0]
            found[group] = found.get(group, 0) + flow["goodput_bps"]
    return found


def test_flows_cross_routers_and_star_and_take_what_the_least_of_both_leaves(tmp_path):
    columns = tmp_path / "columns"
    report = simulated(SCENARIO, tmp_path / "report.json", "--columns", columns, "--pcap", tmp_path / "pcap", "--pcap-filter",
                       "router1-port1,edge2-port1")
    assert [phase["name"] for phase in report["phases"]] == ["quiet", "busy"]
    assert all(flow["bytes"] > 0 for phase in report["phases"] for flow in phase["flows"])
    assert {file.stem for file in columns.iterdir()} == {"links", "flows", "queues", "ports", "access", "control"}
    assert len(list((tmp_path / "pcap").iterdir())) == 2
    assert report["series"]["pairs"] and report["series"]["links"] and report["frame"]
    slow = goodputs_bps(report)
    # The routers' 40 Mb/s, of IP bytes, are the least.
    assert 0.8 * 40e6 < slow["across"] < 40e6
    assert slow["wide"] > 1.5 * 40e6, "it meets no slow router"
    dropped = {link["name"]: sum(link["dropped_packets"]) for link in report["series"]["links"]}
    assert dropped["lab-west"] == dropped["west-star"] == 0, "XCP fills no buffer"

    text = SCENARIO.read_text()
    for end in ",}":
        text = text.replace(f": 40000000{end}", f": 400000000{end}")
    scenario = tmp_path / "fast.yaml"
    scenario.write_text(text)
    report = simulated(scenario, tmp_path / "fast.json")
    # Now the star's slots are, for each of the edges: XCP-CL at their VOQs holds the senders back, and the routers drop nothing.
    fast = goodputs_bps(report)
    assert 1.5 * slow["across"] < fast["across"] < 160e6
    assert fast["across"] + fast["wide"] < 160e6, "they share a fibre with 16 of 20 slots for data"
    # With a fixed capacity at the edges it is that which they get.
    scenario.write_text(text.replace("beacon_hold_frames: 1", "beacon_hold_frames: 1, xcp_bps: 20000000"))
    held = goodputs_bps(simulated(scenario, tmp_path / "fixed.json"))
    assert 0.8 * 20e6 < held["across"] < 20e6 and 0.8 * 20e6 < held["wide"] < 20e6


def test_faults_of_both_kinds_are_borne_and_the_same_seed_gives_the_same(tmp_path):
    scenario = tmp_path / "faults.yaml"
    faults = [("link-cut", 900, 20), ("router-restart", 1500, 10), ("edge-restart", 1500, 10), ("core-down", 2000, 10)]
    lines = [f"- {{kind: {kind}, every_ms: {every_ms}, for_ms: {for_ms}}}" for kind, every_ms, for_ms in faults]
    scenario.write_text("\n".join([SCENARIO.read_text().rstrip(), "faults:", *lines, ""]))
    first, second = (simulated(scenario, tmp_path / name) for name in ("one.json", "two.json"))
    assert first == second
    kinds = {kind["kind"]: kind for kind in first["faults"]["kinds"]}
    assert set(kinds) == {kind for kind, *_ in faults}
    assert all(kind["injected"] > 0 and kind["not_recovered"] == 0 for kind in kinds.values()), kinds
    cuts = [row for row in first["faults"]["rows"] if row["kind"] == "link-cut"]
    assert any(row["edge"] is not None for row in cuts) and any("routers" in row for row in cuts), "fibres, and links of routers"


def test_a_mix_is_built_in_python(tmp_path):
    network = Network("built", seconds=1, packet_bytes=1450).star(3, [1, 1, 0]).node("inner", "border")
    network.link("inner", "border", rate_bps=20_000_000, delay_ns=500_000, xcp_bps=20_000_000)
    network.link("border", "edge2", rate_bps=400_000_000, delay_ns=10_000, xcp_bps=400_000_000)
    network.hosts("lab", "inner").tcp("lab", "edge0", transport="xcp").tcp("edge1", "lab").fault("core-down", 0.4, 0.01)
    network.save(tmp_path / "built.yaml")
    report = network.simulate(quiet=True)
    assert report.data["invariants"] == NOTHING_BROKEN
    flows = report.data["phases"][0]["flows"]
    assert [flow["to"] for flow in flows] == ["h0_0", "lab.0"]
    assert all(flow["bytes"] > 0 for flow in flows)


def test_a_mix_of_python_has_what_stars_have(tmp_path):
    network = Network("parts", seed=3, packet_bytes=1450).star(3, [1, 1, 0]).node("lab").hosts("desk", "lab")
    network.link("lab", "edge2", rate_bps=100_000_000, delay_ns=500_000, xcp_bps=100_000_000).tcp("desk", "edge0", transport="xcp")
    network.phase("quiet", 0.2).phase("busy", 0.3).traffic("tcp", "edge1", "edge0", rate_bps=10_000_000).file("h0_0", "h1_0", 20_000)
    network.fibre_change(0.3, edge=1, attenuation_mdb=1_000).clocks(max_offset_ns=1_000_000).optics().scheduler_change(0.4, "fair")
    network.controller(metric="delay").fault("edge-restart", 0.2, 0.01, edge=1)
    report = network.simulate(quiet=True, scheduler="islip", sample_frames=4, columns=tmp_path / "columns")
    assert report.data["invariants"] == NOTHING_BROKEN
    assert [(phase["name"], phase["end_ns"] - phase["start_ns"]) for phase in report.data["phases"]] == [
        ("quiet", 200_000_000), ("busy", 300_000_000),
    ]
    ends = {(flow["from"], flow["to"]): flow["bytes"] for flow in report.data["phases"][1]["flows"]}
    assert ends["h1_0", "h0_0"] > 0 and ends["h0_0", "h1_0"] == 20_000
    (restarts,) = report.data["faults"]["kinds"]
    assert restarts["injected"] > 0 and {row["edge"] for row in report.data["faults"]["rows"]} == {1}
    assert list(report.columns("control")["time_s"][:2]) == pytest.approx([0.015, 0.03]), "four frames of 15 slots"


def test_a_mix_runs_live(tmp_path):
    report_file = tmp_path / "report.json"
    done = slotwise("emulate", SCENARIO, "--duration", 4, "--report", report_file)
    report = load_report(report_file)
    assert report["invariants"] == NOTHING_BROKEN, done.stdout + done.stderr
    flows = [flow for phase in report["phases"] for flow in phase["flows"]]
    assert {flow["from"] for flow in flows if flow["played_by"] == "engine"} == {"lab.0", "lab.1", "desk.0"}
    assert {flow["from"] for flow in flows if flow["played_by"] == "linux"} == {"h1_0", "h1_1"}
    assert all(flow["bytes"] > 0 for flow in flows), done.stdout
