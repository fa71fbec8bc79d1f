# SPDX-License-Identifier: Apache-2.0
"""Results of virtual time are the same, to the byte, from one version of the engine to the next.

`digests.json` holds the digests of reports, columns and captures. A change that moves one says in its commit what came in
another order, or out differently, and why; it then writes the new ones: `SLOTWISE_RENEW_DIGESTS=1 pytest end_to_end/test_digests.py`.
"""
import hashlib
import json
import os
from pathlib import Path

import pytest

from test_runs import ROOT, slotwise

KEPT = Path(__file__).with_name("digests.json")
SIMULATED = {
    "star4": ("topologies/star4.yaml", 3),
    "star4-twin": ("topologies/star4-twin.yaml", 2),
    "star4-twin-out-of-band": ("topologies/star4-twin-out-of-band.yaml", 1),
    "star4-drift": ("topologies/star4-drift.yaml", 2),
    "combiner": ("topologies/combiner.yaml", 2),
    "agile": ("experiments/agile-capacity/agile.yaml", 1),
    **{f"faults/{path.stem}": (str(path), 1.5) for path in sorted((ROOT / "experiments" / "faults").glob("*.yaml"))},
}


def of_report(path: Path) -> str:
    """Of what a run did; not of the versions that did it."""
    report = json.loads(path.read_text())
    del report["versions"]
    return hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()


def of_directory(directory: Path, pattern: str) -> str:
    """Of all files below a directory that fit, by name and content."""
    digest = hashlib.sha256()
    files = sorted(directory.rglob(pattern))
    assert files, f"no {pattern} in {directory}"
    for path in files:
        digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def judge(name: str, found: dict[str, str]):
    """Compares with what is kept, or keeps it if that was asked for."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if os.environ.get("SLOTWISE_RENEW_DIGESTS"):
        KEPT.write_text(json.dumps({**kept, name: found}, indent=1, sort_keys=True) + "\n")
    else:
        assert found == kept[name], "results are not what they were: see the head of this file"


@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulation_gives_what_it_gave(name, tmp_path):
    scenario, seconds = SIMULATED[name]
    report, columns = tmp_path / "report.json", tmp_path / "columns"
    done = slotwise("simulate", ROOT / scenario, "--duration", seconds, "--report", report, "--columns", columns)
    assert done.returncode == 0, done.stdout + done.stderr
    judge(name, {"report": of_report(report), "columns": of_directory(columns, "*.parquet")})


def test_captures_hold_what_they_held(tmp_path):
    arguments = ("--duration", 0.3, "--pcap", tmp_path / "pcap")
    done = slotwise("simulate", ROOT / "topologies" / "star4-twin.yaml", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    judge("captures", {"pcap": of_directory(tmp_path / "pcap", "*.pcap")})


@pytest.mark.parametrize("entry", ["figure-5.1", "figure-5.8"])
def test_a_routed_run_gives_what_it_gave(entry, tmp_path):
    """Case 1 of the thesis with XCP and with XCP-CL, its time divided by 50."""
    done = slotwise("reproduce", "aapn-xcp-cl", "--quick", "--only", entry, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    judge(f"aapn-xcp-cl/{entry}", {"columns": of_directory(tmp_path, "*.parquet")})
