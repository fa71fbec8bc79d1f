# SPDX-License-Identifier: Apache-2.0
"""Builders and the short API. The `slotwise` command is a stand-in here: what it is given and what it answers."""
import json
import stat

import pytest
import yaml

from slotwise import RunFailed, ScenarioError, Star, builders, scenario


@pytest.mark.parametrize(("edges", "hosts"), [(2, 1), (4, 2), (64, 1)])
def test_a_star_of_any_size_is_a_scenario(edges, hosts):
    star = Star(edges, hosts).tcp()
    scenario.check(star.scenario)
    assert len(scenario.hosts(star.scenario)) == edges * hosts
    assert star.scenario["frame"]["slots"] == 5 * edges


def test_delays_are_spread_from_end_to_end():
    assert builders.spread(10, 100, 4) == [10, 40, 70, 100]
    assert builders.spread(10, 100, 1) == [10]
    with pytest.raises(ValueError, match="each of 3 edges, got 2"):
        builders.star(3, delays_ns=[1, 2])


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="slot"):
        Star(edges=4, slot=20)
    with pytest.raises(ScenarioError, match="rate_bps"):
        Star().tcp("all", "all", rate_bp=1).save("/nonexistent/scenario.yaml")


def test_traffic_belongs_to_the_phase_before_it():
    star = Star()
    star.phase("one", seconds=0.5).tcp("all", "all").phase("two").udp("h0_0", "h1_0", 1_000_000, 500).file("h0_0", "h1_0", 10)
    phases = star.scenario["phases"]
    assert [(phase["name"], phase["duration_ms"], len(phase["traffic"])) for phase in phases] == [("one", 500, 1), ("two", 5000, 2)]
    star.link_change(0.1, edge=1, up=False)
    scenario.check(star.scenario)


def test_the_base_of_an_experiment_is_not_changed():
    base = builders.star()
    from slotwise import Experiment

    Experiment(base).tcp()
    assert base["phases"] == []


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A stand-in for `slotwise`: keeps its arguments and scenario, and writes the report that the test wants."""

    def make(report: dict | None, status: int):
        (tmp_path / "report.json").write_text(json.dumps(report))
        script = tmp_path / "slotwise"
        script.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\ncp "$2" {tmp_path}/scenario.yaml\n'
            + (f'cp {tmp_path}/report.json "$4"\n' if report else "") + f"exit {status}\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("SLOTWISE_COMMAND", str(script))
        return tmp_path

    return make


def report(ok: bool) -> dict:
    flow = {"from": "h0_0", "to": "h1_0", "goodput_bps": 5.0}
    failures = [] if ok else ["1 collision"]
    return {"verdict": {"ok": ok, "failures": failures, "notes": []}, "phases": [{"name": "main", "flows": [flow, flow]}]}


def test_run_hands_the_scenario_over_and_returns_the_report(command):
    place = command(report(ok=True), 0)
    result = Star(3).tcp().run(seed=7, duration_s=2, pcap="captures")
    arguments = (place / "arguments").read_text().split()
    assert arguments[0] == "emulate"
    assert arguments[4:] == ["--seed", "7", "--duration", "2", "--pcap", "captures"]
    assert len(yaml.safe_load((place / "scenario.yaml").read_text())["edges"]) == 3
    assert result.ok
    assert result.goodput_bps("main") == {("h0_0", "h1_0"): 10.0}


def test_a_broken_invariant_is_an_exception_with_the_report(command):
    command(report(ok=False), 1)
    with pytest.raises(RunFailed, match="1 collision") as failure:
        Star().tcp().simulate()
    assert failure.value.report.failures == ["1 collision"]


def test_a_run_without_a_report_is_an_exception(command):
    command(None, 3)
    with pytest.raises(RunFailed, match="status 3 and without a report"):
        Star().tcp().run()
