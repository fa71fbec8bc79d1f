# SPDX-License-Identifier: Apache-2.0
"""CPUs of live runs. Run as test_runs.py is, beside no other live run."""

import os
import signal
from pathlib import Path

import pytest

from test_runs import Emulation, load_report, read_process

pytestmark = pytest.mark.nightly

# Files and directories of settings that concern all programs of the machine.
SETTINGS = ["/proc/sys/kernel/sched_rt_runtime_us", "/sys/devices/virtual/workqueue/cpumask"]
READY = '{"event":"ready"}'
# Note of a run that sleeps between events, as no CPU is left for it alone.
SHARES = "emulator: no separate CPU"
HAS_CPUS_FOR_TWO = len(os.sched_getaffinity(0)) > 2


def machine() -> dict[str, str]:
    """Settings of the machine, by file."""
    files = [Path(file) for file in SETTINGS] + sorted(Path("/proc/irq").glob("[0-9]*/smp_affinity"))
    return {str(file): file.read_text().strip() for file in files if file.exists()}


def attached(tmp_path) -> Emulation:
    """A run without hosts, which is soon ready, on ports of its own."""
    (tmp_path / "ports.json").write_text("[]")
    return Emulation("--attach", tmp_path / "ports.json", "--rest-port", 0, "--report", tmp_path / "report.json")


def fabric_cpus(run: Emulation) -> set[int]:
    """CPUs on which the fabric of a run without hosts may run."""
    tasks = Path(f"/proc/{run.process.pid}/task").iterdir()
    (fabric,) = [task for task in tasks if read_process(task / "comm").strip() == "fabric"]
    return os.sched_getaffinity(int(fabric.name))


def end(run: Emulation) -> None:
    """Ends it as its user would."""
    run.process.send_signal(signal.SIGINT)
    assert run.finish() == 0, run.output


def test_of_two_runs_at_once_each_has_its_cpu_or_none_and_the_machine_stays_as_it_is(tmp_path):
    before = machine()
    (tmp_path / "other").mkdir()
    with attached(tmp_path) as first:
        first.read_until(READY)
        with attached(tmp_path / "other") as second:
            second.read_until(READY)
            assert fabric_cpus(first).isdisjoint(fabric_cpus(second))
            assert machine() == before
            end(second)
        notes = load_report(tmp_path / "other" / "report.json")["verdict"]["notes"]
        shares = [note for note in notes if SHARES in note]
        assert (SHARES in second.output, len(shares)) == ((False, 0) if HAS_CPUS_FOR_TWO else (True, 1)), second.output
        end(first)
        assert SHARES not in first.output
