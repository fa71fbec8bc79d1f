# SPDX-License-Identifier: Apache-2.0
"""Optical packet switches with their controller, live and in virtual time."""

import json
import signal
import subprocess
import time
import urllib.request

import pytest

from slotwise import OpsMesh
from slotwise.results import plot
from test_runs import PATIENCE_S, ROOT, SLOTWISE, load_report, slotwise

NOTHING_BROKEN = {
    "lane": 0,
    "ram": 0,
    "duplicate": 0,
    "split": 0,
    "unexplained": 0,
    "label": 0,
    "astray": 0,
    "ingress": 0,
    "first": [],
}
MESH5 = ROOT / "topologies" / "mesh5.yaml"
# At the least rate, a packet a period, such a train takes 13 periods.
LONG_TRAINS = {
    "aggregation": {"scheme": "full", "interval_ns": 10_000_000, "size_bytes": 20_000},
    "probes": {"rate_bps": 1_000_000, "period_ns": 50_000_000},
    "macroflows": {"satisfied": True},
}


@pytest.mark.parametrize(("command", "generated_by"), [("emulate", "linux"), ("simulate", "engine")])
def test_tcp_crosses_a_mesh(tmp_path, command, generated_by):
    done = slotwise(command, MESH5, "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert report["invariants"] == NOTHING_BROKEN
    (phase,) = report["phases"]
    assert {flow.get("generated_by", "engine") for flow in phase["flows"]} == {generated_by}
    # No edge brings more than its 20 Mb/s. How much flows that meet at an output get is another matter: outputs have room for a few packets.
    goodputs = [flow["goodput_bps"] for flow in phase["flows"]]
    assert len(goodputs) == 5 and all(0 < goodput < 20e6 for goodput in goodputs) and sum(goodputs) > 20e6, goodputs
    assert {link["name"] for link in report["series"]["links"]} >= {"s0-s2/0", "s2-s0/0", "e0-s0/0", "s0-e0/0"}
    plot.draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000


def test_a_mesh_from_python_goes_round_a_cut():
    mesh = (
        OpsMesh(4, rate_bps=20_000_000, seconds=1)
        .udp("hosts0", "hosts2", 5_000_000)
        .span_change(0.3, "s0", "s2", False)
    )
    report = mesh.simulate()
    assert report.ok and report.data["invariants"] == NOTHING_BROKEN
    assert report.data["controller"]["reroutes"] > 0
    (flow,) = report.data["phases"][0]["flows"]
    assert flow["goodput_bps"] > 4.5e6


def test_who_waits_for_a_long_train_is_not_satisfied():
    """A train that takes several periods at the least rate leaves some of them empty; its macroflow has use for more all the same (docs/ops.md#the-edge)."""
    mesh = OpsMesh(3, links=[("s0", "s1"), ("s1", "s2")], rate_bps=20_000_000, seconds=2, more=LONG_TRAINS).udp(
        "hosts0", "hosts2", 15_000_000
    )
    report = mesh.simulate()
    assert report.ok and report.data["invariants"] == NOTHING_BROKEN
    (flow,) = report.data["phases"][0]["flows"]
    assert flow["goodput_bps"] > 10e6


def test_senders_of_long_trains_share_what_there_is():
    """Of nine that share 20 Mb/s each has less than a train a period."""
    mesh = OpsMesh(
        3,
        links=[("s0", "s1"), ("s1", "s2")],
        edges_per_switch=5,
        rate_bps=20_000_000,
        ram_bytes=200_000,
        seconds=4,
        more=LONG_TRAINS,
    )
    for sender in range(9):
        mesh.udp(f"hosts{sender}", "hosts12", 10_000_000)
    report = mesh.simulate()
    assert report.ok and report.data["invariants"] == NOTHING_BROKEN
    goodputs = [flow["goodput_bps"] for flow in report.data["phases"][0]["flows"]]
    assert len(goodputs) == 9 and sum(goodputs) > 14e6 and min(goodputs) > 0.8 * max(goodputs), goodputs


def test_a_run_that_somebody_changed_is_told_in_its_report(tmp_path):
    """docs/page.md: a target, over REST, of a run in virtual time; it goes on until it is interrupted."""
    scenario, report, events = tmp_path / "agents.yaml", tmp_path / "report.json", tmp_path / "events"
    text = MESH5.read_text().replace("  ram_bytes:", "  probes: {rate_bps: 1000000, period_ns: 50000000}\n  ram_bytes:")
    scenario.write_text(text.replace("duration_ms: 6000", "duration_ms: 6000000"))
    chosen = {"device_id": 4001, "port": 256, "target": 0.8}
    command = [SLOTWISE, "simulate", scenario, "--report", report, "--events", events]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        try:
            url = next(line for line in run.stdout if "REST API at" in line).split()[-1]
            body, headers = b'{"target": 0.8}', {"Content-Type": "application/json"}
            with urllib.request.urlopen(
                urllib.request.Request(url + "ops/targets/4001/256", body, headers, method="PUT")
            ) as answer:
                assert json.load(answer) == chosen
            # The run has looked for what its controller says when it has told of its state again.
            told = events.read_text().count("snapshot")
            deadline = time.monotonic() + PATIENCE_S
            while events.read_text().count("snapshot") < told + 3:
                assert time.monotonic() < deadline and run.poll() is None
            run.send_signal(signal.SIGINT)
            output, _ = run.communicate(timeout=PATIENCE_S)
        finally:
            run.kill()
    (change,) = load_report(report)["changes"]
    assert (change["by"], change["target"]) == ("rest", chosen)
    assert "target: device_id 4001, port 256, target 0.8 (by REST)" in output, output


def test_edges_share_for_hosts_that_know_nothing_of_it(tmp_path):
    """docs/lambda.md: of the sink's 90 Mb/s the one that wants little has its 9, the others equal parts; what edge 1 has left goes elsewhere."""
    done = slotwise("simulate", ROOT / "topologies" / "edges-share.yaml", "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert report["invariants"] == NOTHING_BROKEN
    (phase,) = report["phases"]
    goodputs = {flow["name"].rsplit(".")[0]: flow["goodput_bps"] / 1e6 for flow in phase["flows"]}
    assert 8.5 < goodputs["3-0"] < 9.1, goodputs
    assert (
        goodputs["2-0"] > goodputs["4-0"] > 15
        and sum(rate for name, rate in goodputs.items() if name.endswith("-0")) > 80
    ), goodputs


def test_edges_that_make_trains_are_refused_for_bmv2():
    done = slotwise("emulate", ROOT / "topologies" / "two-links.yaml", "--target", "bmv2", "--bmv2", "/bin/true")
    assert done.returncode != 0 and "/ops: burst assembly" in done.stderr and "mesh4-bmv2.yaml" in done.stderr, (
        done.stderr
    )
