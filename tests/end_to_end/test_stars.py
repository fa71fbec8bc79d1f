# SPDX-License-Identifier: Apache-2.0
"""Overlaid stars: `slotwise emulate` of two cores with real hosts, a fibre of which is cut; stars that signal out of band.

`scripts/test end-to-end` runs it as root in a network namespace of its own, after `make setup`.
"""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from slotwise.tools import home

ROOT = Path(__file__).resolve().parents[2]
SLOTWISE = Path(home.slotwise_command())
TOPOLOGIES = ROOT / "topologies"
PATIENCE_S = 120
# Of the flows that must not stay in the dark.
RATE_BPS = 1_000_000


def run(command: str, scenario: Path, tmp_path: Path, *options) -> dict:
    """The report, which fits its schema, of a run that went well."""
    path = tmp_path / "report.json"
    arguments = [SLOTWISE, command, scenario, "--report", path, *map(str, options)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(path.read_text())
    schema = json.loads((ROOT / "schema" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    assert [(star["core"], star["master"]) for star in report["stars"]] == [(0, 0), (1, 1)]
    assert all(star["delivered_bytes"] > 0 and star["lost_packets"] == 0 for star in report["stars"])
    return report


@pytest.mark.nightly
def test_live_traffic_goes_by_the_other_star_when_a_fibre_is_cut(tmp_path):
    report = run("emulate", TOPOLOGIES / "star3-twin-short.yaml", tmp_path)
    dark = {drop["location"]: drop["packets"] for drop in report["drops"] if drop["reason"] == "link_down"}
    assert set(dark) == {"edge2->core0", "core0->edge2"} and all(dark.values())

    # Two thirds of the run are after the cut: a stream that stays in the dark delivers no more than a third.
    flows = [flow for flow in report["phases"][0]["flows"] if flow["entry"] < 2]
    assert len(flows) == 12
    assert all(flow["bytes"] * 8 > flow["seconds"] * RATE_BPS * 2 / 3 for flow in flows), flows


def test_stars_that_signal_out_of_band_give_every_slot_to_data(tmp_path):
    report = run("simulate", TOPOLOGIES / "star4-twin-out-of-band.yaml", tmp_path, "--duration", 1)
    assert report["frame"]["signaling_slots"] == 0
    (hot_pair,) = report["hotspot_pairs"]
    # More than one star has.
    assert hot_pair["mean_granted_slots"] > report["frame"]["slots"]
    assert not any(report["controller"]["requests"]["refused"].values())


def test_stars_that_signal_out_of_band_may_have_masters_far_away(tmp_path):
    """T_d of the masters is ten times the control latency: a request shows a schedule as active before the core uses it."""
    text = (TOPOLOGIES / "star4-twin-out-of-band.yaml").read_text()
    scenario = tmp_path / "far.yaml"
    scenario.write_text(re.sub(r"delay_ns: (\d+)}", lambda delay: f"delay_ns: {int(delay[1]) + 2_000_000}}}", text))
    run("simulate", scenario, tmp_path, "--duration", 1)


def test_stars_that_signal_out_of_band_outlive_a_core(tmp_path):
    scenario = tmp_path / "core-down.yaml"
    faults = "faults:\n  - {kind: core-down, every_ms: 200, for_ms: 60}\n"
    scenario.write_text((TOPOLOGIES / "star4-twin-out-of-band.yaml").read_text() + faults)
    report = run("simulate", scenario, tmp_path, "--duration", 1)
    (cores,) = report["faults"]["kinds"]
    assert cores["injected"] > 0 and cores["not_recovered"] == 0


def test_stars_that_signal_out_of_band_notice_a_cut_fibre(tmp_path):
    text = (TOPOLOGIES / "star4-twin-out-of-band.yaml").read_text()
    scenario = tmp_path / "cut.yaml"
    # Requests of edge 2 go on, as they do not pass its fibre.
    scenario.write_text(
        text[: text.index("phases:")]
        + """phases:
  - name: all-pairs
    duration_ms: 900
    flows:
      - {from: all, to: all, udp: {rate_bps: 1000000, payload_bytes: 1000, process: constant}}
changes:
  - {at_ms: 300, core: 0, edge: 2, up: false}
"""
    )
    flows = run("simulate", scenario, tmp_path)["phases"][0]["flows"]
    assert len(flows) == 24
    # What stays in the dark delivers a third.
    assert all(flow["bytes"] * 8 > 0.9 * RATE_BPS * 2 / 3 for flow in flows), flows


def test_a_restarted_controller_goes_on_with_several_stars(tmp_path):
    for name in ("star4-twin", "star4-twin-drift"):
        scenario = tmp_path / f"{name}.yaml"
        faults = "faults:\n- {kind: controller-restart, every_ms: 300, for_ms: 40}\n"
        scenario.write_text((TOPOLOGIES / f"{name}.yaml").read_text() + faults)
        (kind,) = run("simulate", scenario, tmp_path, "--duration", 1.5)["faults"]["kinds"]
        assert kind["injected"] >= 2 and kind["not_recovered"] == 0, kind
