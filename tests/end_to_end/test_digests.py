# SPDX-License-Identifier: Apache-2.0
"""Results of virtual time have their stored digests: reports, columns and captures, in bytes and values. Those with faults are in `test_faults`."""

import shutil

import pytest

from digests import judge
from test_runs import ROOT, slotwise

pytestmark = pytest.mark.usefixtures("shared_controller")

SIMULATED = {
    "star4": ("topologies/star4.yaml", 3),
    "star4-twin": ("topologies/star4-twin.yaml", 2),
    "star4-twin-out-of-band": ("topologies/star4-twin-out-of-band.yaml", 1),
    "star4-drift": ("topologies/star4-drift.yaml", 2),
    "star4-trains": ("topologies/star4-trains.yaml", 2),
    "star-trains-by-class": ("schema/examples/valid/star-trains-by-class.yaml", 0.1),
    "combiner": ("topologies/combiner.yaml", 2),
    "agile": ("experiments/agile-capacity/agile.yaml", 1),
    # Long enough for first grants, which need four frames, and for traffic in both phases.
    "star64": ("topologies/star64.yaml", 0.5),
    "ring8": ("topologies/ring8.yaml", 1),
    "ring24": ("topologies/ring24.yaml", 0.5),
    "mesh5": ("topologies/mesh5.yaml", 1),
    "nsfnet": ("topologies/nsfnet.yaml", 0.3),
    "edges-share": ("topologies/edges-share.yaml", 1),
    "optiputer": ("topologies/optiputer.yaml", 1),
}
# One per network type.
QUICK = {"star-trains-by-class", "ring8", "mesh5", "optiputer"}
# Case 1 of the thesis with XCP and with XCP-CL, and a capacity that changes fifty times, twice at one time.
ROUTED = ("figure-5.1", "figure-5.8", "figure-5.38")
QUICK_ROUTED = "figure-5.8"
# The shortest entry of each experiment; aapn-xcp-cl has its own tests.
EXPERIMENTS = {
    "aapn-control": "table-3.1",
    "agile-capacity": "queue-cubic",
    "dcn-workloads": "collectives",
    "gtp-lambda-networks": "t-pacing",
    "ipt-ring": "figure-6",
    "ops-paced-xcp": "claim-target",
    "tcp-udp-over-ops": "figure-13",
}
EXPERIMENT_PATIENCE_S = 600


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.quick] if name in QUICK else []) for name in SIMULATED]
)
def test_a_simulation_gives_what_it_gave(name, tmp_path):
    scenario, seconds = SIMULATED[name]
    report, columns = tmp_path / "report.json", tmp_path / "columns"
    # Its verdict is in the report: star4's file does not arrive in a shortened run.
    done = slotwise("simulate", ROOT / scenario, "--duration", seconds, "--report", report, "--columns", columns)
    assert report.exists(), done.stdout + done.stderr
    judge(name, report=report, columns=columns)


def test_captures_hold_what_they_held(tmp_path):
    done = slotwise("simulate", ROOT / "topologies" / "star4-twin.yaml", "--duration", 0.3, "--pcap", tmp_path / "pcap")
    assert done.returncode == 0, done.stdout + done.stderr
    judge("captures", pcap=tmp_path / "pcap")


@pytest.mark.parametrize(
    "entry", [pytest.param(entry, marks=[pytest.mark.quick] if entry == QUICK_ROUTED else []) for entry in ROUTED]
)
def test_a_routed_run_gives_what_it_gave(entry, tmp_path):
    """Time is divided by 50."""
    done = slotwise("reproduce", "aapn-xcp-cl", "--quick", "--only", entry, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    judge(f"aapn-xcp-cl/{entry}", columns=tmp_path)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_gives_what_it_gave(experiment, tmp_path):
    entry = EXPERIMENTS[experiment]
    arguments = ("--quick", "--only", entry, "--out", tmp_path)
    done = slotwise("reproduce", experiment, *arguments, patience_s=EXPERIMENT_PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    judge(f"{experiment}/{entry}", report=tmp_path / "quick" / "facts.json", columns=tmp_path)


def test_each_experiment_has_a_digest():
    experiments = {path.parent.name for path in (ROOT / "experiments").glob("*/experiment.yaml")}
    assert experiments == {"aapn-xcp-cl", *EXPERIMENTS}


def test_routers_run_another_program_where_one_is_named(tmp_path):
    named = ("reproduce", "aapn-xcp-cl", "--quick", "--only", "figure-5.1", "--out", tmp_path / "out", "--program")
    source = slotwise(*named, ROOT / "p4src" / "router.p4")
    assert source.returncode != 0 and "P4 source; expected" in source.stderr and not (tmp_path / "out").exists()
    own = tmp_path / "own.json"
    shutil.copy(ROOT / "p4src" / "p4c-out" / "router.json", own)
    done = slotwise(*named, own)
    assert done.returncode == 0, done.stdout + done.stderr
    judge("aapn-xcp-cl/figure-5.1", columns=tmp_path / "out")
