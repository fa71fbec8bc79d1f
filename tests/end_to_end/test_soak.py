# SPDX-License-Identifier: Apache-2.0
"""A live run of minutes, whose controller is asked again and again, uses no more of the machine at its end. Run as test_runs.py is."""

import json
import re
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest

from test_runs import PATIENCE_S, REST_PORT, SCENARIO, Emulation, below, command_line, load_report, read_process

pytestmark = pytest.mark.nightly

PHASES = 20
PHASE_MS = 15_000
FIRST, LAST = 5, PHASES - 1
"""Phases at whose start the use is measured, both with the same traffic: what is set up once is there by the first of them."""
ASKED = 3
RESOURCES = ("status", "topology", "nodes", "members", "demand", "schedule", "statistics", "scheduler")
# By command line.
PROCESSES = {"engine": r"^/proc/self/exe emulate", "controller": r"^java "}
SLACK = 4
"""Accepted growth in descriptors and threads: a request in progress, a compiler thread of the JVM."""
SAMPLES_BYTES = 24 << 20
"""Accepted growth in memory of the engine, which holds all samples of the report until its end: 21 MB were measured."""


class Use(NamedTuple):
    """Resources of a process."""

    descriptors: int
    threads: int
    resident_bytes: int


def use(pid: int) -> Use:
    status = dict(line.split(":", 1) for line in read_process(f"/proc/{pid}/status").splitlines())
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Use(descriptors, int(status["Threads"]), int(status["VmRSS"].split()[0]) * 1024)


def use_by_process(run: Emulation) -> dict[str, Use]:
    lines = {pid: command_line(pid) for pid in below(run.process.pid)}
    return {
        name: use(min(pid for pid, line in lines.items() if re.search(pattern, line)))
        for name, pattern in PROCESSES.items()
    }


def ask(port: int) -> None:
    """Asks for every resource, each time by a connection of its own, as scripts with curl do."""
    for _ in range(ASKED):
        for resource in RESOURCES:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/slotwise/v1/star/{resource}", timeout=PATIENCE_S
            ) as answer:
                json.load(answer)


def scenario(place: Path) -> Path:
    """The short star with one phase of TCP between all hosts again and again."""
    head, phases = SCENARIO.read_text().split("phases:\n")
    uniform = re.sub(r"duration_ms: \d+", f"duration_ms: {PHASE_MS}", phases[: phases.index("  - name: file")])
    path = place / "soak.yaml"
    names = (f"uniform{phase}" for phase in range(1, PHASES + 1))
    path.write_text(f"{head}phases:\n{''.join(uniform.replace('uniform', name) for name in names)}")
    return path


def test_a_run_of_minutes_uses_no_more_at_its_end(tmp_path):
    report_file = tmp_path / "report.json"
    used = {}
    with Emulation("--report", report_file, "--rest-port", REST_PORT, scenario=scenario(tmp_path)) as run:
        for phase in range(1, PHASES + 1):
            run.read_until(f"{phase}/{PHASES} uniform{phase}")
            used[phase] = use_by_process(run)
            print(phase, used[phase])
            # Afterwards the run may end at any moment.
            if phase < LAST:
                ask(REST_PORT)
        assert run.finish() == 0, run.output
    assert load_report(report_file)["verdict"]["ok"]
    table = "\n".join(f"{phase}: {each}" for phase, each in used.items())
    for name in PROCESSES:
        first, last = used[FIRST][name], used[LAST][name]
        assert last.descriptors <= first.descriptors + SLACK, table
        assert last.threads <= first.threads + SLACK, table
    growth = used[LAST]["engine"].resident_bytes - used[FIRST]["engine"].resident_bytes
    assert growth <= SAMPLES_BYTES, table
