# SPDX-License-Identifier: Apache-2.0
"""A few faults of each kind, and of all together, in stars, networks of routers, mixes of both, rings and optical packet switches, in virtual time, with the real
controller: invariants hold, the network recovers, runs repeat.

The scenarios of experiments/faults, shortened.
"""

import json
import subprocess
import zlib

import pytest

from digests import judge
from test_runs import ROOT, slotwise


@pytest.fixture(autouse=True)
def controller(request):
    """One process for all controllers, but where faults end them."""
    if not any(word in request.node.name for word in ("controller-restart", "combined")):
        request.getfixturevalue("shared_controller")


SCENARIOS = sorted((ROOT / "experiments" / "faults").glob("*.yaml"))
# Long enough for two faults of those that are far apart; a controller takes a second or two to start.
SECONDS = {
    "controller-restart": 0.5,
    "edge-restart-drift": 2.5,
    "routers-controller-restart": 0.8,
    "ring-controller-restart": 0.8,
    "ops-controller-restart": 0.8,
    "mixed-controller-restart": 0.8,
    "routers-transports": 10,
    "mixed-transports": 8,
    "mixed-combined": 3,
    "mixed-combined-out-of-band": 3,
    "mixed-combined-drift": 3,
}
DEFAULT_SECONDS = 1.5
# Where edges with clocks of their own join anew, faults of all kinds are far apart.
COMBINED_DRIFT_SECONDS = 3
# New ones, for each scenario.
SEEDS = 4


def run(scenario, path, *arguments) -> bytes:
    """The report of a shortened run."""
    is_sparse = scenario.stem.startswith("combined") and "drift" in scenario.stem
    seconds = COMBINED_DRIFT_SECONDS if is_sparse else SECONDS.get(scenario.stem, DEFAULT_SECONDS)
    done = slotwise("simulate", scenario, "--duration", seconds, "--report", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return path.read_bytes()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.stem)
def test_a_network_bears_faults_and_recovers(scenario, tmp_path):
    path, columns = tmp_path / "report.json", None
    network = scenario.stem.split("-")[0]
    # The report of a star with columns has more series than the one whose digest is stored.
    if network in ("routers", "ring", "ops"):
        columns = tmp_path / "columns"
    report = json.loads(run(scenario, path, *(["--columns", columns] if columns else [])))
    checks = set(report["invariants"]) - {"first"}
    of_routers, of_stars = {"astray"}, {"collision", "guard", "ungranted", "duplicate"}
    of_rings = {"duplicate", "astray", "transit_loss", "round", "add_rate", "insertion"}
    of_ops = {"lane", "ram", "duplicate", "split", "unexplained", "label", "astray", "ingress"}
    of_networks = {"routers": of_routers, "mixed": of_routers | of_stars, "ring": of_rings, "ops": of_ops}
    expected = of_networks.get(network, of_stars)
    assert checks == expected and not any(report["invariants"][check] for check in checks)
    assert report["verdict"]["ok"]
    for kind in report["faults"]["kinds"]:
        assert kind["injected"] >= 2 and kind["not_recovered"] == 0, kind
    assert all(row["recovery_ns"] is not None for row in report["faults"]["rows"])
    judge(f"faults/{scenario.stem}", report=path, columns=columns)


@pytest.mark.parametrize("name", ["edge-restart", "messages-duplicated", "mixed-combined"])
def test_a_run_with_faults_repeats(name, tmp_path):
    scenario = ROOT / "experiments" / "faults" / f"{name}.yaml"
    first, second = (run(scenario, tmp_path / f"{n}.json") for n in (1, 2))
    assert first == second
    assert run(scenario, tmp_path / "other.json", "--seed", 2) != first


def seeds() -> list[int]:
    """Seeds of this commit: others each time something has changed."""
    git = ["git", "-C", ROOT, "rev-parse", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    return [zlib.crc32(f"{head} {number}".encode()) for number in range(SEEDS)]


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.stem)
def test_new_seeds_break_no_invariant(scenario, tmp_path):
    for seed in seeds():
        path = tmp_path / f"{seed}.json"
        seconds = SECONDS.get(scenario.stem, DEFAULT_SECONDS)
        done = slotwise("simulate", scenario, "--duration", seconds, "--seed", seed, "--report", path)
        assert path.is_file(), done.stdout + done.stderr
        invariants = json.loads(path.read_text())["invariants"]
        assert not any(count for check, count in invariants.items() if check != "first"), (seed, invariants["first"])
