# SPDX-License-Identifier: Apache-2.0
"""Results of virtual time are what they were: reports, columns and captures, to the byte. Those with faults are in `test_faults`."""

import shutil

import pytest

from digests import judge, of_directory, of_report
from test_runs import ROOT, slotwise

SIMULATED = {
    "star4": ("topologies/star4.yaml", 3),
    "star4-twin": ("topologies/star4-twin.yaml", 2),
    "star4-twin-out-of-band": ("topologies/star4-twin-out-of-band.yaml", 1),
    "star4-drift": ("topologies/star4-drift.yaml", 2),
    "star4-trains": ("topologies/star4-trains.yaml", 2),
    "star-trains-by-class": ("schema/examples/valid/star-trains-by-class.yaml", 0.1),
    "combiner": ("topologies/combiner.yaml", 2),
    "agile": ("experiments/agile-capacity/agile.yaml", 1),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulation_gives_what_it_gave(name, tmp_path):
    scenario, seconds = SIMULATED[name]
    report, columns = tmp_path / "report.json", tmp_path / "columns"
    # Its verdict is in the report: star4's file does not arrive in a shortened run.
    done = slotwise("simulate", ROOT / scenario, "--duration", seconds, "--report", report, "--columns", columns)
    assert report.exists(), done.stdout + done.stderr
    judge(name, report=of_report(report), columns=of_directory(columns, "*.parquet"))


def test_captures_hold_what_they_held(tmp_path):
    done = slotwise("simulate", ROOT / "topologies" / "star4-twin.yaml", "--duration", 0.3, "--pcap", tmp_path / "pcap")
    assert done.returncode == 0, done.stdout + done.stderr
    judge("captures", pcap=of_directory(tmp_path / "pcap", "*.pcap"))


@pytest.mark.parametrize("entry", ["figure-5.1", "figure-5.8", "figure-5.38"])
def test_a_routed_run_gives_what_it_gave(entry, tmp_path):
    """Case 1 of the thesis with XCP and with XCP-CL, and a capacity that changes fifty times, twice at one time; time divided by 50."""
    done = slotwise("reproduce", "aapn-xcp-cl", "--quick", "--only", entry, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    judge(f"aapn-xcp-cl/{entry}", columns=of_directory(tmp_path, "*.parquet"))


def test_routers_run_another_program_where_one_is_named(tmp_path):
    named = ("reproduce", "aapn-xcp-cl", "--quick", "--only", "figure-5.1", "--out", tmp_path / "out", "--program")
    source = slotwise(*named, ROOT / "p4src" / "router.p4")
    assert source.returncode != 0 and "is P4 source" in source.stderr and not (tmp_path / "out").exists()
    own = tmp_path / "own.json"
    shutil.copy(ROOT / "p4src" / "p4c-out" / "router.json", own)
    done = slotwise(*named, own)
    assert done.returncode == 0, done.stdout + done.stderr
    judge("aapn-xcp-cl/figure-5.1", columns=of_directory(tmp_path / "out", "*.parquet"))
