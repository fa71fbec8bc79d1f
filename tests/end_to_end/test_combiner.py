# SPDX-License-Identifier: Apache-2.0
"""Several edges behind one port of a core, in virtual time, with the real controller: topologies/combiner.yaml and what can be made of it."""

import pytest
import yaml

from test_runs import ROOT, load_report, slotwise

pytestmark = pytest.mark.usefixtures("shared_controller")

SCENARIO = ROOT / "topologies" / "combiner.yaml"
PORTS = {0: 0, 1: 1, 2: 1, 3: 3, 4: 3, 5: 3}
CLOCKS = {"max_offset_ns": 400_000_000, "max_drift_ppb": 50_000, "walk_ppb": 50, "step_ns": 1_000_000}


def simulate(scenario, path, *arguments) -> dict:
    """The report of a run that breaks no rule and in which no port sends, or receives, in more slots than there are."""
    done = slotwise("simulate", scenario, "--report", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"] and not any(
        report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate")
    )
    data_slots = report["frame"]["slots"] - report["frame"]["signaling_slots"]
    for end in ("from", "to"):
        for port in PORTS.values():
            series = [pair["granted_slots"] for pair in report["series"]["pairs"] if PORTS[pair[end]] == port]
            assert max(map(sum, zip(*series, strict=True))) <= data_slots
    return report


def variant(path, **changes):
    """The scenario with other sections."""
    scenario = yaml.safe_load(SCENARIO.read_text()) | changes
    path.write_text(yaml.safe_dump(scenario))
    return path


def delivered(report) -> dict:
    """Bytes by edge pair."""
    return {(pair["from"], pair["to"]): sum(pair["delivered_bytes"]) for pair in report["series"]["pairs"]}


def test_no_pair_gets_more_than_its_slots_carry_however_short_the_phases_are(tmp_path):
    report = simulate(SCENARIO, tmp_path / "report.json", "--duration", 0.5)
    (pair,) = report["hotspot_pairs"]
    assert 0.8 * pair["slot_payload_bps"] < pair["goodput_bps"] <= pair["slot_payload_bps"]
    for phase in report["phases"]:
        length_s = (phase["end_ns"] - phase["start_ns"]) / 1e9
        for flow in phase["flows"]:
            assert flow["phase_bytes"] <= flow["bytes"]
            assert flow["goodput_bps"] == pytest.approx(flow["phase_bytes"] * 8 / length_s)


def last_slots(report, pair, frames) -> float:
    """Mean slots of a pair over the last frames."""
    (series,) = [entry["granted_slots"] for entry in report["series"]["pairs"] if (entry["from"], entry["to"]) == pair]
    return sum(series[-frames:]) / frames


def test_edges_behind_one_port_share_its_slots_and_reach_each_other(tmp_path):
    report = simulate(SCENARIO, tmp_path / "report.json", "--duration", 1.5)
    assert all(delivered(report)[a, b] > 0 for a in PORTS for b in PORTS if a != b)
    # 14 slots for three pairs that could use more each, one of them from the port to itself.
    for pair in ((1, 3), (2, 4), (4, 5)):
        assert 3.5 <= last_slots(report, pair, 20) <= 5


def test_late_joiners_behind_one_port_do_not_meet(tmp_path):
    dark = [{"at_ms": at_ms, "core": 0, "edge": edge, "up": at_ms > 0} for at_ms in (0, 300) for edge in (4, 5)]
    phases = [
        {"name": "joining", "duration_ms": 1200, "flows": []},
        {"name": "uniform", "duration_ms": 300, "flows": [{"from": "all", "to": "all"}]},
    ]
    scenario = variant(tmp_path / "drift.yaml", clocks=CLOCKS, changes=dark, phases=phases)
    report = simulate(scenario, tmp_path / "report.json")
    assert all(delivered(report)[a, b] > 0 for a in PORTS for b in PORTS if a != b)


def test_a_restarted_controller_goes_on_with_shared_ports(tmp_path):
    faults = [{"kind": "controller-restart", "every_ms": 200, "for_ms": 40}]
    report = simulate(variant(tmp_path / "restart.yaml", faults=faults), tmp_path / "report.json", "--duration", 1.2)
    (kind,) = report["faults"]["kinds"]
    assert kind["injected"] >= 2 and kind["not_recovered"] == 0, kind


def test_ports_may_be_shared_at_one_core_and_not_at_another(tmp_path):
    edges = yaml.safe_load(SCENARIO.read_text())["edges"]
    for edge in edges:
        port = 239 if edge["id"] > 3 else edge["id"]
        edge["fibres"].append({"core": 1, "rate_bps": 200_000_000, "delay_ns": 30_000, "port": port})
    scenario = variant(tmp_path / "twin.yaml", edges=edges, cores=[{"id": 0, "master": 0}, {"id": 1, "master": 1}])
    done = slotwise("simulate", scenario, "--duration", 0.9, "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert report["verdict"]["ok"]
    assert all(star["delivered_bytes"] > 0 and star["lost_packets"] == 0 for star in report["stars"])
