# SPDX-License-Identifier: Apache-2.0
"""Overlaid stars with real hosts: `slotwise emulate` of two cores, a fibre of which is cut.

`scripts/test end-to-end` runs it as root in a network namespace of its own, after `make setup`.
"""
import json
import subprocess
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
SLOTWISE = ROOT / "engine" / "target" / "release" / "slotwise"
SCENARIO = ROOT / "topologies" / "star3-twin-short.yaml"
PATIENCE_S = 120
# Of the scenario's first two entries.
RATE_BPS = 1_000_000


def test_live_traffic_goes_by_the_other_star_when_a_fibre_is_cut(tmp_path):
    path = tmp_path / "report.json"
    command = [SLOTWISE, "emulate", SCENARIO, "--report", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(path.read_text())
    schema = json.loads((ROOT / "schema" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)

    assert [(star["core"], star["master"]) for star in report["stars"]] == [(0, 0), (1, 1)]
    assert all(star["delivered_bytes"] > 0 and star["lost_packets"] == 0 for star in report["stars"])
    dark = {drop["place"]: drop["packets"] for drop in report["drops"] if drop["reason"] == "link_down"}
    assert set(dark) == {"edge2->core0", "core0->edge2"} and all(dark.values())

    # Two thirds of the run are after the cut: a stream that stays in the dark delivers no more than a third.
    flows = [flow for flow in report["phases"][0]["flows"] if flow["entry"] < 2]
    assert len(flows) == 12
    assert all(flow["bytes"] * 8 > flow["seconds"] * RATE_BPS * 2 / 3 for flow in flows), flows
