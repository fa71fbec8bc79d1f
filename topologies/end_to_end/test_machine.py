# SPDX-License-Identifier: Apache-2.0
"""What a live run changes about the machine is as it was, however the run ends. Run as test_runs.py is, beside no other live run."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from test_runs import PATIENCE_S, ROOT, SCENARIO, SLOTWISE, Emulation, children, command_name, load_report, read_process

pytestmark = pytest.mark.nightly

FILES = ["/proc/sys/kernel/sched_rt_runtime_us", "/sys/devices/virtual/workqueue/cpumask"]
# Flags in /proc/PID/stat: a thread of the kernel; one that may not be moved.
PF_KTHREAD, PF_NO_SETAFFINITY = 0x0020_0000, 0x0400_0000
FIRST_PID_NAMESPACE = "pid:[4026531836]"
CHANGED = "until the run ends: "
READY = '{"event":"ready"}'
# What a second run says: it leaves the machine to the first, and where no CPU is left for it alone, it sleeps.
SECOND = "another run has changed the machine's settings"
SHARES = "emulator: no separate CPU"
HAS_CPUS_FOR_TWO = len(os.sched_getaffinity(0)) > 2


def cpus_of_kernel_threads() -> dict[str, str]:
    """By number, name and start."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            head, tail = (process / "stat").read_text().rsplit(") ", 1)
            flags, start = int(tail.split()[6]), tail.split()[19]
            if flags & PF_KTHREAD and not flags & PF_NO_SETAFFINITY:
                found[f"{head} {start}"] = str(sorted(os.sched_getaffinity(int(process.name))))
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile
    return found


def machine() -> dict[str, str]:
    """What a run may change, as it is now."""
    files = [Path(file) for file in FILES] + sorted(Path("/proc/irq").glob("[0-9]*/smp_affinity"))
    return {str(file): file.read_text().strip() for file in files if file.exists()} | cpus_of_kernel_threads()


def differences(before: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Of what was there before and is still there: how it was and is."""
    now = machine()
    return {name: (value, now[name]) for name, value in before.items() if now.get(name, value) != value}


@pytest.fixture
def before() -> dict[str, str]:
    """The machine before a run, put back if an earlier one was killed."""
    subprocess.run([SLOTWISE, "put-back"], check=False, stdout=subprocess.DEVNULL)
    return machine()


def attached(tmp_path, *arguments) -> Emulation:
    """A run without hosts, which is soon ready, on ports of its own."""
    (tmp_path / "ports.json").write_text("[]")
    return Emulation("--attach", tmp_path / "ports.json", "--rest-port", 0, *arguments)


def why_left_alone() -> str:
    """Why a run leaves the machine alone, by what the test finds itself; empty if it has to change it."""
    if os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
        return "in a container a keeper would end with it"
    if len(os.sched_getaffinity(0)) < 2:
        return "the only CPU is left to all"
    return ""


def must_change(run: Emulation, ready: str = READY) -> None:
    """Waits until it is ready; skips the test where a run has to leave the machine alone, and does."""
    run.read_until(ready)
    why = why_left_alone()
    assert (CHANGED in run.output) == (not why), run.output
    if why:
        pytest.skip(f"the machine is not changed: {why}")


def keeper(run: Emulation) -> int:
    """Its process."""
    (found,) = [pid for pid in children(run.process.pid) if command_name(pid) == "slotwise-keeper"]
    return found


def kill_keeper(run: Emulation) -> None:
    """Kills it, and waits until it has ended."""
    kept = keeper(run)
    descriptor = os.pidfd_open(kept)
    os.kill(kept, signal.SIGKILL)
    await_end(descriptor)


def await_end(descriptor: int) -> None:
    """Of a process."""
    assert select.select([descriptor], [], [], PATIENCE_S)[0]
    os.close(descriptor)


class Silent:
    """A run that leaves the machine alone."""

    output = "pinned to CPU 1; machine settings unchanged"

    def read_until(self, text: str) -> None:
        """It is there at once."""


@pytest.mark.parametrize("why", ["", "the only CPU is left to all"])
def test_a_run_that_leaves_the_machine_alone_passes_only_where_it_has_to(why, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "why_left_alone", lambda: why)
    with pytest.raises(pytest.skip.Exception if why else AssertionError):
        must_change(Silent())


def test_a_run_that_ends_by_itself(before):
    with Emulation("--duration", 0.5) as run:
        must_change(run, "1/2 uniform")
        assert differences(before)
        run.finish()
    assert not differences(before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted(number, before, tmp_path):
    with attached(tmp_path) as run:
        must_change(run)
        assert differences(before)
        run.process.send_signal(number)
        assert run.finish() == 0, run.output
    assert not differences(before)


def test_a_run_with_hosts_that_is_killed(before):
    with Emulation() as run:
        must_change(run, "starting the controller")
        kept = os.pidfd_open(keeper(run))
        assert differences(before)
        run.process.kill()
        await_end(kept)
    assert not differences(before)


def test_a_run_whose_keeper_is_killed_puts_things_back_itself(before, tmp_path):
    with attached(tmp_path) as run:
        must_change(run)
        kill_keeper(run)
        assert differences(before)
        # It is still this run's machine.
        (tmp_path / "other").mkdir()
        with attached(tmp_path / "other") as other:
            other.read_until(SECOND if HAS_CPUS_FOR_TWO else SHARES)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    assert not differences(before)


def next_run(tmp_path) -> str:
    """What it says first. It is killed when it has looked at the machine, before it changes anything."""
    with attached(tmp_path, "--leave-machine") as run:
        run.read_until("machine settings unchanged")
        return run.output


def clean_net(_tmp_path) -> str:
    """What it says."""
    return subprocess.run([ROOT / "scripts" / "clean-net"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("put_back", [next_run, clean_net], ids=lambda function: function.__name__)
def test_a_run_that_is_killed_with_its_keeper(put_back, before, tmp_path):
    with attached(tmp_path) as run:
        must_change(run)
        # The keeper first: it would do its work.
        kill_keeper(run)
        run.process.kill()
        run.process.wait()
        assert differences(before)
    said = put_back(tmp_path)
    assert "settings changed by a killed run" in said
    assert not differences(before)


def fabric_cpus(run: Emulation) -> set[int]:
    """Where the fabric of a run without hosts may run."""
    tasks = Path(f"/proc/{run.process.pid}/task").iterdir()
    (fabric,) = [task for task in tasks if read_process(task / "comm").strip() == "fabric"]
    return os.sched_getaffinity(int(fabric.name))


@pytest.mark.parametrize("arguments", [[], ["--leave-machine"]], ids=["clears", "leaves"])
def test_of_two_runs_at_once_the_first_has_the_machine_and_each_its_cpu_or_none(arguments, before, tmp_path):
    (tmp_path / "other").mkdir()
    report = tmp_path / "report.json"
    with attached(tmp_path, *arguments) as first:
        if arguments:
            first.read_until(READY)
        else:
            must_change(first)
        changed = machine()
        with attached(tmp_path / "other", *arguments, "--report", report) as second:
            second.read_until(READY)
            assert fabric_cpus(first).isdisjoint(fabric_cpus(second))
            second.process.send_signal(signal.SIGINT)
            assert second.finish() == 0, second.output
        shares = [note for note in load_report(report)["verdict"]["notes"] if SHARES in note]
        assert (SHARES in second.output, len(shares)) == ((False, 0) if HAS_CPUS_FOR_TWO else (True, 1)), second.output
        if HAS_CPUS_FOR_TWO and not arguments:
            assert SECOND in second.output
        assert not differences(changed)
        first.process.send_signal(signal.SIGINT)
        assert first.finish() == 0, first.output
        assert SHARES not in first.output
    assert not differences(before)


# A disk with room for a name and for no record.
FULL = 'mount -t tmpfs -o size=4k none /run && head -c 4096 /dev/zero > /run/full; exec "$@"'


def test_without_room_for_its_record_a_run_changes_nothing(before, tmp_path):
    (tmp_path / "ports.json").write_text(json.dumps([]))
    command = [SLOTWISE, "emulate", SCENARIO, "--attach", tmp_path / "ports.json", "--rest-port", "0"]
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", FULL, "sh", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        said = run.stdout.readline()
        if why := why_left_alone():
            run.kill()
            pytest.skip(f"the machine is not changed: {why}")
        assert "nothing moved off it: /run/slotwise-machine.json: No space left on device" in said
        while READY not in said:
            said = run.stdout.readline()
            assert said
        assert not differences(before)
        run.send_signal(signal.SIGINT)
        run.stdout.read()
    assert run.returncode == 0
