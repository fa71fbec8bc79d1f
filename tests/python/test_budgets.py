# SPDX-License-Identifier: Apache-2.0
"""Instruction budgets: how `scripts/budgets` reads profiles of callgrind, and compares them."""

import json
import runpy
import subprocess
import sys

import pytest

from slotwise.tools import home

SCRIPT = home.root() / "scripts" / "budgets"
BUDGETS = runpy.run_path(str(SCRIPT))
COUNTS, TOLERANCE = BUDGETS["Counts"], BUDGETS["TOLERANCE"]
FUNCTION = "fabric::Fabric::run<T=u8>"
# As callgrind writes it: the own cost of a function, then the inclusive cost of each call from it.
NETWORK_THREAD = f"""# callgrind format
version: 1
thread: 1

positions: line
events: Ir
summary: 1100

ob=(1) /a/slotwise
fl=(1) fabric.rs
fn=(1) {FUNCTION}
10 5
+1 7
cfi=(2) dispatch.rs
cfn=(2) handle
calls=30 20
+2 600

fl=(3) lockstep.rs
fn=(3) Session::advance
12 10
cob=(1)
cfi=(1)
cfn=(1)
calls=2 10
* 500
fi=(4) vec.rs
14 3
cfn=(4) {FUNCTION}::{{{{closure}}}}
calls=1 10
* 9000
cfn=(1)
calls=1 10
-1 112

totals: 1100
"""
OTHER_THREAD = """version: 1
thread: 2
events: Ir
fn=(1) compile
1 70
cfn=(2) parse
calls=1 1
1 30

totals: 100
"""


def test_a_profile_gives_the_total_of_a_thread_and_of_the_calls_of_a_function():
    read = BUDGETS["read_profile"]
    assert read(NETWORK_THREAD.splitlines(keepends=True), FUNCTION) == (1100, 612)
    assert read(OTHER_THREAD.splitlines(keepends=True), FUNCTION) == (100, 0)


def test_only_threads_of_the_network_count(tmp_path):
    for number, text in enumerate([OTHER_THREAD, NETWORK_THREAD, OTHER_THREAD, NETWORK_THREAD], 1):
        (tmp_path / f"profile-{number:02}").write_text(text)
    # Callgrind also leaves an empty file of the given name.
    (tmp_path / "profile").touch()
    assert BUDGETS["read_profiles"](tmp_path, FUNCTION) == COUNTS(network=1224, thread=2200)


def test_a_renamed_network_function_is_an_error(tmp_path):
    (tmp_path / "profile-01").write_text(OTHER_THREAD)
    with pytest.raises(
        BUDGETS["NotCountedError"], match="no call of network::Network::run in 1 threads; expected NETWORK_FUNCTION"
    ):
        BUDGETS["read_profiles"](tmp_path, "network::Network::run")


def test_a_run_is_judged_by_its_budget_and_the_tolerance():
    budget = 1_000_000
    most, least = round(budget * (1 + TOLERANCE)), round(budget * (1 - TOLERANCE))
    counted = {
        "at": COUNTS(most, budget),
        "above": COUNTS(most + 1, budget),
        "at-least": COUNTS(least, budget),
        "below": COUNTS(least - 1, budget),
        # A thread has no budget, as it waits.
        "waits": COUNTS(budget, 2 * budget),
    }
    stored = {name: {"network": budget, "thread": budget} for name in counted}
    start = dict.fromkeys([*counted, "new"], budget)
    lines, over = BUDGETS["compare"]({**counted, "new": COUNTS(1, 1)}, stored, start)
    assert over == [
        "above: 1,020,001 instructions of the network, +2.00%; expected at most 2% more than 1,000,000",
        "new: missing budget; expected one in budgets.json (--write)",
    ]
    assert [line.strip() for line in lines if "decrease" in line] == [
        "below: decrease by more than 2%; store it with --write"
    ]
    shown = {tuple(line.split()[:2]): line.split()[-1] for line in lines}
    assert shown[("at", "network")] == "+2.00%" and shown[("at", "thread")] == "+0.00%"
    assert shown[("waits", "thread")] == "+100.00%" and shown[("new", "network")] == "none"


def test_a_run_is_judged_by_its_start_too():
    start = 1_000_000
    most = round(start * (1 + BUDGETS["TOLERANCE_IN_ALL"]))
    counted = {"at": COUNTS(most, most), "above": COUNTS(most + 1, most)}
    stored = {name: {"network": most, "thread": most} for name in counted}
    _, over = BUDGETS["compare"](counted, stored, dict.fromkeys(counted, start))
    assert over == [
        "above: 1,050,001 instructions of the network, +5.00% overall; expected at most 5% more than 1,000,000"
    ]


def test_a_run_without_a_count_at_the_start_is_refused():
    counts = {"of": COUNTS(10, 10)}
    _, over = BUDGETS["compare"](counts, {"of": {"network": 10, "thread": 10}}, {})
    assert over == ["of: missing count at the start; expected one in budgets.json (--write)"]


def test_the_first_budget_of_a_run_is_its_start_and_stays(load_script, tmp_path, monkeypatch):
    budgets = load_script(SCRIPT)
    monkeypatch.setattr(budgets, "BASELINE", tmp_path / "budgets.json")
    monkeypatch.setattr(budgets.shutil, "which", lambda name: name)
    monkeypatch.setattr(budgets, "SLOTWISE", tmp_path)
    monkeypatch.setattr(budgets, "conditions", dict)
    monkeypatch.setattr(sys, "argv", ["budgets", "--write"])
    for network in (100, 103):
        counted = {name: budgets.Counts(network, network) for name in budgets.RUNS}
        monkeypatch.setattr(budgets, "count_all", lambda *_, counted=counted: (counted, []))
        assert budgets.main() == 0
    stored = json.loads(budgets.BASELINE.read_text())
    assert stored["start"] == dict.fromkeys(budgets.RUNS, 100)
    assert stored["runs"] == {name: {"network": 103, "thread": 103} for name in budgets.RUNS}


def test_differing_conditions_are_printed():
    stored, now = (
        {"rustc": "1.95.0", "libc": "glibc 2.36"},
        {"rustc": "1.96.0", "libc": "glibc 2.36", "valgrind": "3.24.0"},
    )
    assert BUDGETS["differences"](stored, now) == [
        "note: rustc 1.96.0; baseline has 1.95.0",
        "note: valgrind 3.24.0; baseline has None",
    ]


def test_each_run_has_a_budget():
    stored = json.loads(BUDGETS["BASELINE"].read_text())
    assert stored["runs"].keys() == stored["start"].keys() == BUDGETS["RUNS"].keys()
    for counts in stored["runs"].values():
        assert 0 < counts["network"] < counts["thread"]


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--check"], 0), (["--write"], 1)])
def test_a_missing_valgrind_is_reported_as_not_run(options, status, tmp_path):
    done = subprocess.run([SCRIPT, *options], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "not run: budgets: valgrind not on the PATH\n")


def test_an_unknown_run_is_rejected():
    done = subprocess.run([SCRIPT, "star5"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "unknown run: star5" in done.stderr
