# SPDX-License-Identifier: Apache-2.0
"""Instruction budgets: what `scripts/budgets` reads in callgrind's profiles, and how it judges that."""

import json
import runpy
import subprocess

import pytest

from slotwise import home

SCRIPT = home.root() / "scripts" / "budgets"
BUDGETS = runpy.run_path(str(SCRIPT))
COUNTS, TOLERANCE = BUDGETS["Counts"], BUDGETS["TOLERANCE"]
FUNCTION = "fabric::Fabric::run<T=u8>"
# As callgrind writes it: a function's own costs, then those of each call from it, with what is below.
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


def test_a_profile_gives_all_of_a_thread_and_what_is_in_the_calls_of_a_function():
    read = BUDGETS["read_profile"]
    assert read(NETWORK_THREAD.splitlines(keepends=True), FUNCTION) == (1100, 612)
    assert read(OTHER_THREAD.splitlines(keepends=True), FUNCTION) == (100, 0)


def test_only_threads_that_run_the_network_count(tmp_path):
    for number, text in enumerate([OTHER_THREAD, NETWORK_THREAD, OTHER_THREAD, NETWORK_THREAD], 1):
        (tmp_path / f"profile-{number:02}").write_text(text)
    # Callgrind leaves an empty file of the name that it was given.
    (tmp_path / "profile").touch()
    assert BUDGETS["read_profiles"](tmp_path, FUNCTION) == COUNTS(network=1224, thread=2200)


def test_a_network_function_of_another_name_is_no_budget_of_0(tmp_path):
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
        # As its thread waits, it has no budget.
        "waits": COUNTS(budget, 2 * budget),
    }
    kept = {name: {"network": budget, "thread": budget} for name in counted}
    lines, over = BUDGETS["compare"]({**counted, "new": COUNTS(1, 1)}, kept)
    assert over == [
        "above: 1,020,001 instructions of the network, +2.00%; expected 1,000,000 and at most 2% more",
        "new: no budget; expected one (--write)",
    ]
    assert [line.strip() for line in lines if "--write" in line] == ["below: fewer by more than 2%; --write keeps that"]
    shown = {tuple(line.split()[:2]): line.split()[-1] for line in lines}
    assert shown[("at", "network")] == "+2.00%" and shown[("at", "thread")] == "+0.00%"
    assert shown[("waits", "thread")] == "+100.00%" and shown[("new", "network")] == "none"


def test_what_budgets_were_kept_with_is_said_where_it_differs():
    kept, now = (
        {"rustc": "1.95.0", "libc": "glibc 2.36"},
        {"rustc": "1.96.0", "libc": "glibc 2.36", "valgrind": "3.24.0"},
    )
    assert BUDGETS["differences"](kept, now) == [
        "note: rustc 1.96.0; budgets are of 1.95.0",
        "note: valgrind 3.24.0; budgets are of None",
    ]


def test_each_run_has_a_budget():
    kept = json.loads(BUDGETS["BUDGETS"].read_text())
    assert kept["runs"].keys() == BUDGETS["RUNS"].keys()
    for counts in kept["runs"].values():
        assert 0 < counts["network"] < counts["thread"]


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--check"], 0), (["--write"], 1)])
def test_without_valgrind_it_says_that_nothing_was_checked(options, status, tmp_path):
    done = subprocess.run([SCRIPT, *options], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "not run: budgets: valgrind not on the PATH\n")


def test_a_run_that_is_not_there_is_refused():
    done = subprocess.run([SCRIPT, "star5"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "unknown: star5" in done.stderr
