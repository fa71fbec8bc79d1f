# SPDX-License-Identifier: Apache-2.0
"""Stock BMv2 as the switches of stars, of routers and of both. Runs need simple_switch_grpc on the PATH; what is refused does not."""

import os
import shutil
import signal

import pytest

from test_runs import ROOT, SCENARIO, Emulation, assert_nothing_is_left, children, command_name, load_report, slotwise

pytestmark = pytest.mark.nightly

ROUTERS = ROOT / "topologies" / "routers4-bmv2.yaml"
STAR = ROOT / "topologies" / "star3-bmv2.yaml"
RING = ROOT / "topologies" / "ring3-bmv2.yaml"
MESH = ROOT / "topologies" / "mesh4-bmv2.yaml"
MIX = ROOT / "topologies" / "mixed-bmv2.yaml"
SWITCHES = 4
BMV2_TARGET = ("--target", "bmv2")
needs_bmv2 = pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on the PATH")


def switches(run: Emulation) -> list[int]:
    # The kernel keeps 15 characters of a name.
    return [pid for pid in children(run.inside()) if command_name(pid) == "simple_switch_grpc"[:15]]


@needs_bmv2
def test_a_star_of_bmv2_delivers_and_breaks_nothing(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("emulate", STAR, *BMV2_TARGET, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"], report["verdict"]
    assert [report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate")] == [0, 0, 0, 0]
    # TCP of every edge reached every other one, by slots that the controller gave.
    assert len(report["series"]["pairs"]) == 6
    for pair in report["series"]["pairs"]:
        assert sum(pair["delivered_bytes"]) > 50_000, (pair["from"], pair["to"])
    assert [file["intact"] for phase in report["phases"] for file in phase["files"]] == [True]
    assert report["controller"]["commits"]["completed"] > 0
    assert report["switch_answers"]["light"] > 1000


@needs_bmv2
def test_routers_of_bmv2_carry_tcp_of_linux_and_xcp_of_the_engine(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("emulate", ROUTERS, *BMV2_TARGET, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"] and report["invariants"] == {"astray": 0, "first": []}
    (phase,) = report["phases"]
    assert sorted(flow["generated_by"] for flow in phase["flows"]) == ["engine"] * 2 + ["linux"] * 2
    assert all(flow["bytes"] > 50_000 for flow in phase["flows"]), phase["flows"]
    # Feedback of BMv2's P4 reached the senders, and packets kept the time at which they were sent.
    xcp = [flow for flow in phase["flows"] if flow["generated_by"] == "engine"]
    assert all(flow["transport"] == "xcp" and flow["delay_ns"]["mean"] > 1_000_000 for flow in xcp)
    # BMv2 cannot see that a link has no light: the run told the controller, which found another way, and the first one again.
    assert report["controller"]["configured"] and report["controller"]["reroutes"] >= 2
    busy = {
        link["name"]: [
            time_ms for time_ms, used in zip(report["series"]["time_ms"], link["utilization"], strict=True) if used > 0
        ]
        for link in report["series"]["links"]
    }
    # The south is nobody's shortest way. When it was the only one nobody can say of a machine that may stand still.
    assert busy["west-south"] and busy["south-west"]
    assert max(busy["north-west"]) >= max(busy["south-west"])
    assert report["switch_answers"]["light"] > 1000


@needs_bmv2
def test_a_mix_of_bmv2_carries_tcp_of_linux_and_xcp_of_the_engine(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("emulate", MIX, *BMV2_TARGET, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"] and not any(
        report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate", "astray")
    )
    flows = {flow.get("name", "busy"): flow for flow in report["phases"][-1]["flows"]}
    assert {name: flow["generated_by"] for name, flow in flows.items()} == {
        "across.0": "engine",
        "down.0": "linux",
        "busy": "linux",
    }
    assert all(flow["bytes"] > 20_000 for flow in flows.values()), flows
    assert report["controller"]["commits"]["completed"] > 0


@needs_bmv2
def test_a_ring_of_bmv2_carries_tcp_of_linux_round_a_cut(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("emulate", RING, *BMV2_TARGET, "--verbose", "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"] and not any(
        count for check, count in report["invariants"].items() if check != "first"
    )
    assert all(flow["bytes"] > 20_000 for flow in report["phases"][-1]["flows"]), report["phases"]
    assert "device 3002, port 256 is down" in done.stderr + done.stdout
    assert report["controller"]["reroutes"] >= 2


@needs_bmv2
def test_a_mesh_of_bmv2_carries_tcp_of_linux_round_a_cut(tmp_path):
    done = slotwise("emulate", MESH, *BMV2_TARGET, "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert not any(count for check, count in report["invariants"].items() if check != "first")
    assert all(flow["bytes"] > 20_000 for flow in report["phases"][0]["flows"]), report["phases"]
    assert report["controller"]["reroutes"] >= 2


@needs_bmv2
def test_a_bmv2_that_ends_ends_the_run():
    with Emulation(*BMV2_TARGET, scenario=STAR) as run:
        run.read_until("1/2 uniform")
        descendants, processes = run.descendants(), switches(run)
        assert len(processes) == SWITCHES
        os.kill(processes[0], signal.SIGKILL)
        assert run.finish() == 1
    assert "simple_switch_grpc of edge0: exited (signal: 9" in run.output, run.output
    assert_nothing_is_left(descendants)


@needs_bmv2
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_on_bmv2_that_is_ended_leaves_nothing(number):
    with Emulation(*BMV2_TARGET, scenario=STAR) as run:
        run.read_until("1/2 uniform")
        descendants = run.descendants()
        run.process.send_signal(number)
        assert run.finish() != 0
    assert_nothing_is_left(descendants)


def test_slots_too_short_for_bmv2_are_refused():
    done = slotwise("emulate", SCENARIO, *BMV2_TARGET)
    assert done.returncode == 1
    assert "/frame/slot_ns: slots of 250000 ns are too short for BMv2" in done.stderr
    assert "star3-bmv2.yaml" in done.stderr and "mixed-bmv2.yaml" in done.stderr
    assert "starting" not in done.stdout


def test_a_missing_bmv2_is_named():
    done = slotwise("emulate", STAR, *BMV2_TARGET, "--bmv2", "/nonexistent/simple_switch_grpc")
    assert done.returncode == 1
    assert "/nonexistent/simple_switch_grpc: not found" in done.stderr and "--bmv2" in done.stderr
    assert "starting" not in done.stdout
