# SPDX-License-Identifier: Apache-2.0
"""Edges with clocks of their own join by invitation and carry traffic, in-band and out of band, one of them late."""

import json

import pytest

from test_runs import ROOT, load_report, slotwise

pytestmark = pytest.mark.usefixtures("shared_controller")

SCENARIOS = ["star4-drift", "star4-drift-out-of-band", "star4-twin-drift"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_edges_with_clocks_of_their_own_join_and_carry_traffic(name, tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("simulate", ROOT / "topologies" / f"{name}.yaml", "--duration", 2, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"] and report["frame"]["signaling_slots"] == 4
    cores = {edge["core"] for edge in report["synchronization"]}
    assert {(edge["edge"], edge["core"]) for edge in report["synchronization"]} == {
        (n, core) for n in range(4) for core in cores
    }
    # Learning how the clocks run is included.
    assert all(abs(edge[bound]) < 1_000 for edge in report["synchronization"] for bound in ("min_ns", "max_ns"))
    assert all(flow["bytes"] > 0 for flow in report["phases"][1]["flows"])


def test_faults_of_messages_do_not_break_synchronization_out_of_band(tmp_path):
    scenario = tmp_path / "wrong.yaml"
    text = (ROOT / "topologies" / "star4-drift-out-of-band.yaml").read_text()
    kinds = ("messages-lost", "messages-duplicated", "messages-reordered", "messages-corrupted")
    scenario.write_text(
        text + "faults:\n" + "".join(f"- {{kind: {kind}, every_ms: 200, for_ms: 60, share: 0.5}}\n" for kind in kinds)
    )
    path = tmp_path / "report.json"
    done = slotwise("simulate", scenario, "--duration", 2, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(path.read_text())
    assert report["verdict"]["ok"]
    assert all(kind["messages"] > 0 and kind["not_recovered"] == 0 for kind in report["faults"]["kinds"])
