# SPDX-License-Identifier: Apache-2.0
"""Schedulers of one's own in virtual time: the examples in Java and Python do the same, and one that fails costs nothing but its schedules."""

import json
import subprocess
import sys

import pytest
import yaml

from test_runs import ROOT, slotwise

EXAMPLES = ROOT / "topologies" / "examples" / "schedulers"
JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
PROVIDER = "META-INF/services/org.slotwise.systems.star.schedule.SchedulerProvider"


def build(place) -> None:
    """As docs/write-your-own.md says."""
    classes = place / "classes"
    subprocess.run(["javac", "-cp", JAR, "-d", classes, EXAMPLES / "GreedyScheduler.java"], check=True)
    (classes / PROVIDER).parent.mkdir(parents=True)
    (classes / PROVIDER).write_text("GreedyScheduler\n")
    subprocess.run(["jar", "--create", "--file", place / "greedy.jar", "-C", classes, "."], check=True)


def simulate(place, name: str, source: dict) -> dict:
    """The report of a run of star4 that begins with a scheduler of one's own."""
    scenario = yaml.safe_load((ROOT / "topologies" / "star4.yaml").read_text())
    scenario["schedulers"] = {name: source}
    scenario["controller"]["scheduler"] = name
    file, report = place / f"{name}.yaml", place / f"{name}.json"
    file.write_text(yaml.safe_dump(scenario, sort_keys=False))
    done = slotwise("simulate", file, "--duration", 0.5, "--report", report)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text())


def test_failures_of_a_killed_controller_count(tmp_path):
    scenario = yaml.safe_load((ROOT / "topologies" / "star4.yaml").read_text())
    command = [sys.executable, "-c", "import sys; sys.exit('no such scheduler')"]
    scenario["schedulers"] = {"broken": {"command": command}}
    scenario["controller"]["scheduler"] = "broken"
    scenario["changes"] = [{"at_ms": 100, "scheduler": "fair"}]
    scenario["faults"] = [{"kind": "controller-restart", "every_ms": 300, "for_ms": 40}]
    file, report = tmp_path / "broken.yaml", tmp_path / "report.json"
    scenario["phases"] = [{**scenario["phases"][0], "duration_ms": 1000}]
    file.write_text(yaml.safe_dump(scenario, sort_keys=False))
    done = slotwise("simulate", file, "--report", report)
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads(report.read_text())
    assert any(row["kind"] == "controller-restart" for row in report["faults"]["rows"])
    assert "failed_schedulers" not in report["controller"], "the last process never called it"
    (failure,) = report["verdict"]["failures"]
    assert failure.startswith("scheduler 'broken': no schedule in any of its "), failure


def what_happened(report: dict) -> dict:
    return {key: report[key] for key in ("phases", "series", "controller", "invariants")}


def test_the_examples_in_java_and_python_do_the_same_and_repeat(tmp_path):
    build(tmp_path)
    java = simulate(tmp_path, "greedy", {"jar": "greedy.jar"})
    python = simulate(tmp_path, "mine", {"command": [sys.executable, str(EXAMPLES / "greedy.py")]})
    again = simulate(tmp_path, "again", {"command": [sys.executable, str(EXAMPLES / "greedy.py")]})
    assert java["controller"]["commits"]["completed"] > 3 and "scheduler_failures" not in java["controller"]
    assert what_happened(java) == what_happened(python) == what_happened(again)


@pytest.mark.parametrize(
    "program", ["raise SystemExit(3)", "print('hello')", "import sys; print(1, flush=True); sys.stdin.read()"]
)
def test_one_that_fails_always_fails_the_run_and_the_schedule_stays(program, tmp_path):
    report = simulate(tmp_path, "broken", {"command": [sys.executable, "-c", program]})
    assert report["controller"]["scheduler_failures"] > 3
    assert report["controller"]["commits"]["sent"] == 0
    (failure,) = [failure for failure in report["verdict"]["failures"] if "schedule" in failure]
    assert failure.startswith(
        f"scheduler 'broken': no schedule in any of its {report['controller']['frames_scheduled']} frames: "
    )
    assert not any(report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate"))
