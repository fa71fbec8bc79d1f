# SPDX-License-Identifier: Apache-2.0
"""Runs of an experiment made on workers: what is put in place, and what is said when it cannot be."""

import io
import json
import stat
from pathlib import Path

import distributed
import pytest

from slotwise.tools import farm, reproduce_on

STAND_IN = """#!/bin/sh
# It makes what it is told, of the task in its file.
[ "$1 $3" = "run-task --out" ] || exit 9
grep -q '"seed": 3' "$2" && { echo "slotwise: a broken invariant" >&2; exit 1; }
mkdir "$4/made"
cp "$2" "$4/made/flows.parquet"
grep -q '"seed": 4' "$2" || echo '{}' > "$4/made/done.json"
"""


@pytest.fixture(name="address")
def fixture_address(tmp_path, monkeypatch):
    """That of a scheduler, whose worker has the stand-in."""
    script = tmp_path / "slotwise"
    script.write_text(STAND_IN)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SLOTWISE_COMMAND", str(script))
    options = {
        "n_workers": 1,
        "threads_per_worker": 2,
        "processes": False,
        "protocol": "tcp",
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


def tell(monkeypatch, out: Path, *seeds: int) -> list[dict]:
    """Has these tasks on standard input."""
    tasks = [
        {
            "run": "one",
            "seed": seed,
            "duration_ms": 100,
            "sample_frames": 1,
            "scenario": "version: 1\n",
            "directory": str(out / "runs" / "one" / str(seed)),
        }
        for seed in seeds
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(task) + "\n" for task in tasks)))
    return tasks


def test_each_run_is_in_its_place_whole(tmp_path, monkeypatch, address, capsys):
    out = tmp_path / "out"
    tasks = tell(monkeypatch, out, 1, 2)
    there = out / "runs" / "one" / "2"
    for leftover in (there, there.with_name("2.part"), there.with_name("2.old")):
        leftover.mkdir(parents=True)
        (leftover / "of-another-run").write_text("")
    assert reproduce_on.main([address]) == 0
    assert sorted(str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()) == [
        f"runs/one/{seed}/{name}" for seed in (1, 2) for name in ("done.json", "flows.parquet")
    ]
    # Where its results go is no part of what a worker is told.
    assert json.loads((there / "flows.parquet").read_text()) == tasks[1] | {"directory": ""}
    said = sorted(capsys.readouterr().out.splitlines())
    assert [line.split(" (")[0] for line in said] == [f"one seed {seed}: done on {address}" for seed in (1, 2)]


@pytest.mark.parametrize(
    "seed, reason",
    [
        (3, "one seed 3: slotwise: a broken invariant"),
        (4, "4: the worker did not send done.json; got made/flows.parquet"),
    ],
)
def test_a_run_that_fails_leaves_nothing(tmp_path, monkeypatch, address, capsys, seed, reason):
    out = tmp_path / "out"
    tell(monkeypatch, out, seed)
    assert reproduce_on.main([address]) == reproduce_on.REFUSED
    assert reason in capsys.readouterr().err
    assert not (out / "runs" / "one" / str(seed)).exists()


def test_a_place_that_cannot_be_written_is_said(tmp_path, monkeypatch, address, capsys):
    (tmp_path / "out").write_text("")
    tell(monkeypatch, tmp_path / "out", 1)
    assert reproduce_on.main([address]) == reproduce_on.REFUSED
    assert "Not a directory; existing runs are unchanged" in capsys.readouterr().err


def test_an_address_that_does_not_answer_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(farm, "ANSWER_S", 0.2)
    tell(monkeypatch, tmp_path, 1)
    assert reproduce_on.main(["tcp://127.0.0.1:1"]) == reproduce_on.REFUSED
    assert "slotwise reproduce --on: tcp://127.0.0.1:1: no Dask scheduler answers" in capsys.readouterr().err
