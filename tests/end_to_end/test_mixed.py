# SPDX-License-Identifier: Apache-2.0
"""XCP routers behind edges of a star, one controller with both applications: in virtual time, by faults, and live."""

import json
import os
import re
import signal
import time
import urllib.request
from pathlib import Path

import jsonschema
import pytest

from slotwise import Network
from slotwise.results import plot
from test_runs import PATIENCE_S, ROOT, Emulation, children, command_name, load_report, slotwise

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


EXPERIMENT = """name: mixed
title: A mix
source: nobody
assumptions: [none]
runs: {mixed: {scenario: mixed.yaml, sample_frames: 10}}
entries:
- id: both
  title: Both
  published: both
  facts:
  - {text: across both, where: x, run: mixed, measure: {table: flows, column: goodput_kbps, of: [across.0]}, from_s: 3, to_s: 6,
     stat: mean, band: [0, 40000], why: x}
  - {text: by routers, where: x, run: mixed, measure: {table: links, column: utilization, of: [lab-west]}, from_s: 3, to_s: 6,
     stat: mean, band: [0, 1], why: x}
  - {text: by the star, where: x, run: mixed, measure: {table: queues, column: sent_bytes, of: [edge2->edge3]}, from_s: 3, to_s: 6,
     stat: mean, band: [0, 1.0e+9], why: x}
"""


def test_an_experiment_measures_a_mix_as_a_simulation_does(tmp_path):
    experiment, columns = tmp_path / "experiment", tmp_path / "columns"
    experiment.mkdir()
    (experiment / "mixed.yaml").write_text(SCENARIO.read_text())
    (experiment / "experiment.yaml").write_text(EXPERIMENT)
    done = slotwise("reproduce", experiment, "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # A fiftieth of its 6 s.
    simulated(SCENARIO, tmp_path / "report.json", "--duration", 0.12, "--columns", columns)
    made = {path.name: path.read_bytes() for path in (tmp_path / "quick" / "runs" / "mixed" / "1").glob("*.parquet")}
    assert made == {path.name: path.read_bytes() for path in columns.iterdir()}
    assert {"links.parquet", "queues.parquet", "flows.parquet"} <= set(made)


def test_flows_cross_routers_and_star_and_take_what_the_least_of_both_leaves(tmp_path):
    columns = tmp_path / "columns"
    report = simulated(
        SCENARIO,
        tmp_path / "report.json",
        "--columns",
        columns,
        "--pcap",
        tmp_path / "pcap",
        "--pcap-filter",
        "router1-port1,edge2-port1",
    )
    assert [phase["name"] for phase in report["phases"]] == ["quiet", "busy"]
    assert all(flow["bytes"] > 0 for phase in report["phases"] for flow in phase["flows"])
    assert report["phases"][0]["flows"] == []
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
    scenario.write_text(text.replace("beacon_hold_frames: 1", "beacon_hold_frames: 1, xcp_capacity_bps: 20000000"))
    held = goodputs_bps(simulated(scenario, tmp_path / "fixed.json"))
    assert 0.8 * 20e6 < held["across"] < 20e6 and 0.8 * 20e6 < held["wide"] < 20e6


def test_flows_over_the_run_are_no_phases_flows(tmp_path):
    """One of them goes between the edges of the hot pair, within their star."""
    scenario, report_file = tmp_path / "beside.yaml", tmp_path / "report.json"
    text = SCENARIO.read_text().replace(
        "flows:\n", "flows:\n- {name: beside, from: h1_0, to: h0_1, transport: cubic}\n"
    )
    scenario.write_text(text)
    done = slotwise("simulate", scenario, "--duration", 2, "--report", report_file)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(report_file)
    busy = report["phases"][1]
    (pair,) = report["hotspot_pairs"]
    of_phase = [flow for flow in busy["flows"] if "name" not in flow]
    assert len(of_phase) == 2 and len(busy["flows"]) == 2 + 6
    assert pair["goodput_bps"] == pytest.approx(sum(flow["goodput_bps"] for flow in of_phase))
    lines = [line.split() for line in done.stdout.splitlines()]
    (quiet,) = (line for line in lines if line[:2] == ["throughput", "quiet"])
    assert quiet[-4:] == ["between", "edges,", "0", "flows"]
    assert float(quiet[4]) > 0, "three groups of flows cross the star"
    (whole,) = (line for line in lines if line[:3] == ["throughput", "whole", "run"])
    assert whole[-4:] == ["to", "hosts,", "6", "flows"]


def test_faults_of_both_kinds_are_borne_and_the_same_seed_gives_the_same(tmp_path):
    scenario = tmp_path / "faults.yaml"
    faults = [("link-down", 900, 20), ("router-restart", 1500, 10), ("edge-restart", 1500, 10), ("core-down", 2000, 10)]
    lines = [f"- {{kind: {kind}, every_ms: {every_ms}, for_ms: {for_ms}}}" for kind, every_ms, for_ms in faults]
    scenario.write_text("\n".join([SCENARIO.read_text().rstrip(), "faults:", *lines, ""]))
    first, second = (simulated(scenario, tmp_path / name) for name in ("one.json", "two.json"))
    assert first == second
    kinds = {kind["kind"]: kind for kind in first["faults"]["kinds"]}
    assert set(kinds) == {kind for kind, *_ in faults}
    assert all(kind["injected"] > 0 and kind["not_recovered"] == 0 for kind in kinds.values()), kinds
    cuts = [row for row in first["faults"]["rows"] if row["kind"] == "link-down"]
    assert any(row["edge"] is not None for row in cuts) and any("routers" in row for row in cuts), (
        "fibres, and links of routers"
    )


def test_a_mix_is_built_in_python(tmp_path):
    network = Network("built", seconds=1, packet_bytes=1450).star(3, [1, 1, 0]).node("inner", "border")
    network.link("inner", "border", rate_bps=20_000_000, delay_ns=500_000, xcp_capacity_bps=20_000_000)
    network.link("border", "edge2", rate_bps=400_000_000, delay_ns=10_000, xcp_capacity_bps=400_000_000)
    network.hosts("lab", "inner").tcp("lab", "edge0", transport="xcp").tcp("edge1", "lab").fault("core-down", 0.4, 0.01)
    network.save(tmp_path / "built.yaml")
    report = network.simulate(quiet=True)
    assert report.data["invariants"] == NOTHING_BROKEN
    flows = report.data["phases"][0]["flows"]
    assert [flow["to"] for flow in flows] == ["h0_0", "lab.0"]
    assert all(flow["bytes"] > 0 for flow in flows)


def test_a_mix_of_python_has_what_stars_have(tmp_path):
    network = Network("parts", seed=3, packet_bytes=1450).star(3, [1, 1, 0]).node("lab").hosts("desk", "lab")
    network.link("lab", "edge2", rate_bps=100_000_000, delay_ns=500_000, xcp_capacity_bps=100_000_000).tcp(
        "desk", "edge0", transport="xcp"
    )
    network.phase("quiet", 0.2).phase("busy", 0.3).traffic("tcp", "edge1", "edge0", rate_bps=10_000_000).file(
        "h0_0", "h1_0", 20_000
    )
    network.fibre_change(0.3, edge=1, attenuation_mdb=1_000).clocks(max_offset_ns=1_000_000).optics().scheduler_change(
        0.4, "fair"
    )
    network.controller(metric="delay").fault("edge-restart", 0.2, 0.01, edge=1)
    report = network.simulate(quiet=True, scheduler="islip", sample_frames=4, columns=tmp_path / "columns")
    assert report.data["invariants"] == NOTHING_BROKEN
    assert [(phase["name"], phase["end_ns"] - phase["start_ns"]) for phase in report.data["phases"]] == [
        ("quiet", 200_000_000),
        ("busy", 300_000_000),
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
    assert {flow["from"] for flow in flows if flow["generated_by"] == "engine"} == {"lab.0", "lab.1", "desk.0"}
    assert {flow["from"] for flow in flows if flow["generated_by"] == "linux"} == {"h1_0", "h1_1"}
    assert all(flow["bytes"] > 0 for flow in flows), done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    # Links, and flows over the whole run, are written down to the end of the last phase, and each of those flows lasts as long.
    quiet, busy = report["phases"]
    in_busy = [
        place for place, time_ms in enumerate(report["series"]["time_ms"]) if time_ms * 1e6 > busy["start_ns"] + 0.5e9
    ]
    (link,) = (link for link in report["series"]["links"] if link["name"] == "lab-west")
    assert sum(link["utilization"][place] for place in in_busy) > 0
    of_run = {flow["name"]: flow for flow in busy["flows"] if "name" in flow}
    assert set(of_run) == {"across.0", "across.1", "wide.0", "down.0", "down.1"}
    assert all(flow["seconds"] > 3 for flow in of_run.values())
    assert {name: flow["entry"] for name, flow in of_run.items() if name.endswith(".0")} == {
        "across.0": 0,
        "wide.0": 1,
        "down.0": 2,
    }
    assert quiet["flows"] == []


@pytest.mark.nightly
def test_whoever_attaches_interfaces_plays_all_flows(tmp_path):
    """The engine has none. What links did in the last period, which here is the only one, is written down when somebody ends the run."""
    scenario, report_file, ports = (tmp_path / name for name in ("long.yaml", "report.json", "ports.json"))
    scenario.write_text(SCENARIO.read_text().replace("packet_bytes: 1450", "packet_bytes: 1450\nsample_ms: 60000"))
    ports.write_text("[]")
    with Emulation("--attach", ports, "--report", report_file, "--rest-port", 0, scenario=scenario) as run:
        run.read_until('{"event":"ready"}')
        # A period lasts a millisecond at least.
        time.sleep(0.1)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    report = load_report(report_file)
    assert [phase["flows"] for phase in report["phases"]] == [[]]
    assert len(report["series"]["time_ms"]) == 1


def asked(rest: str, path: str) -> dict:
    """What a resource of the controller's says."""
    with urllib.request.urlopen(f"{rest}{path}", timeout=PATIENCE_S) as answer:
        return json.load(answer)


@pytest.mark.nightly
def test_a_live_mix_is_asked_captured_changed_and_outlives_its_controller(tmp_path):
    """One controller has both applications; light goes on without it, and the next one hears of what was cut meanwhile."""
    scenario, report_file, captures = (tmp_path / name for name in ("changes.yaml", "report.json", "captures"))
    changes = """\
changes:
- {at_ms: 500, core: 0, edge: 1, loss: 0.001}
- {at_ms: 1000, link: west-lab, xcp_capacity_bps: 30000000}
- {at_ms: 1500, link: lab-west, up: false}
- {at_ms: 2000, link: lab-west, up: true}
"""
    scenario.write_text(SCENARIO.read_text() + changes)
    chosen = ("--pcap", captures, "--pcap-filter", "edge?-core0,router2-port*", "--snaplen", 64)
    with Emulation("--duration", 12, "--report", report_file, "--rest-port", 0, *chosen, scenario=scenario) as run:
        run.read_until("REST API at ")
        rest = re.search(r"http://[\d.:]+/slotwise/v1/", run.output)[0]
        assert [app["id"] for app in asked(rest, "")["systems"]] == ["star", "routes"]
        routers = asked(rest, "routes/routes")["routers"]
        assert {router["device_id"] for router in routers} == {2001, 2002, 2003}
        hosts = 5 + 5
        assert all(len(router["routes"]) == hosts for router in routers)
        assert asked(rest, "star/status")["configured"]
        run.read_until("1/2 quiet")
        (controller,) = [pid for pid in children(run.inside()) if command_name(pid) == "java"]
        os.kill(controller, signal.SIGKILL)
        assert run.finish() == 0, run.output
    report = load_report(report_file)
    assert report["invariants"] == NOTHING_BROKEN and report["controller_restarts"] == 1
    assert report["controller"]["commits"]["completed"] > 0
    assert all(flow["bytes"] > 0 for phase in report["phases"] for flow in phase["flows"])
    names = {file.name for file in captures.iterdir()}
    assert names == {
        *(f"edge{edge}-core0.pcap" for edge in range(4)),
        *(f"router2-port{port}.pcap" for port in range(1, 4)),
    }
    assert (captures / "edge2-core0.pcap").stat().st_size > 10_000
    plot.draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
