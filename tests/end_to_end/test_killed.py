# SPDX-License-Identifier: Apache-2.0
"""Every process of a run is killed in turn. What is left then, the next start or `clean-net` finds. Run as test_runs.py is."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

import pytest

from slotwise.tools.command import MARK
from test_runs import PATIENCE_S, ROOT, SCENARIO, SLOTWISE, below, command_line, descriptors_below

pytestmark = pytest.mark.nightly

POLL_S = 0.05
MN = [
    "mn",
    "--custom",
    "topologies/mn.py",
    "--controller",
    "none",
    "--topo",
    "agile,topologies/star3-short.yaml,rest_port=0",
]
PYTHON = "import sys; from slotwise import Scenario; getattr(Scenario.load(sys.argv[1]), sys.argv[2])(rest_port=0)"
REPRODUCE = ["reproduce", "agile-capacity", "--only", "queue-cubic", "--jobs", "2", "--out"]
# A process 1 that does nothing, where Mininet, when it fails, finds nobody else's processes and files to delete by name.
APART = [
    "unshare",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount",
    "--mount-proc",
    "sh",
    "-ec",
    "mount -t tmpfs none /tmp; echo; exec sleep infinity",
]


class Kind(NamedTuple):
    """A run, and how it is known to be under way."""

    command: Callable[[Path], list]
    under_way: Callable[["Run"], bool]
    is_apart: bool = False


def has_said(text: str) -> Callable[["Run"], bool]:
    """Whether it has."""
    return lambda run: text in run.said


def python(method: str) -> Kind:
    """A program that makes a run."""
    return Kind(lambda place: [sys.executable, "-c", PYTHON, place / "long.yaml", method], has_said("1/2 uniform"))


KINDS = {
    "emulate": Kind(
        lambda place: [SLOTWISE, "emulate", place / "long.yaml", "--rest-port", "0"], has_said("1/2 uniform")
    ),
    "simulate": Kind(lambda place: [SLOTWISE, "simulate", place / "long.yaml"], has_said("1/2 uniform")),
    "reproduce": Kind(lambda place: [SLOTWISE, *REPRODUCE, place / "results"], lambda run: run.has("controller")),
    "python-emulate": python("run"),
    "python-simulate": python("simulate"),
    "mn": Kind(lambda _: MN, has_said("Starting CLI"), is_apart=True),
}
# By command line; of several processes the one at this place.
WHO = {
    "engine": (r"slotwise (emulate|simulate)", 0),
    "inside": (r"^/proc/self/exe emulate", 0),
    "controller": (r"^java ", 0),
    "agent": (r"slotwise\.hosts", 0),
    "host": (r"mininet:h1_0$", 0),
}
# (kind, whom, whether the run goes on and has to be ended)
EVERYBODY = [
    *(("emulate", who, who == "controller") for who in ("first", "inside", "controller", "agent", "host")),
    *(("simulate", who, False) for who in ("first", "controller")),
    *(("reproduce", who, False) for who in ("first", "controller")),
    *(("python-emulate", who, False) for who in ("first", "engine", "inside")),
    *(("python-simulate", who, False) for who in ("first", "engine", "controller")),
    *(("mn", who, who in ("controller", "host")) for who in ("first", "engine", "controller", "host")),
]


class Run:
    """A run that is under way. What it has for temporary files is `place`."""

    def __init__(self, kind: Kind, place: Path):
        self.init: subprocess.Popen | None = None
        self.process: subprocess.Popen | None = None
        self.everybody: dict[int, int] = {}
        self.said = ""
        try:
            self._start(kind, place)
        except BaseException:
            self.__exit__()
            raise

    def _start(self, kind: Kind, place: Path) -> None:
        command = kind.command(place)
        if kind.is_apart:
            self.init = subprocess.Popen(APART, stdout=subprocess.PIPE)
            self.init.stdout.readline()
            (inside,) = below(self.init.pid)
            command = ["nsenter", "--pid", "--mount", "--target", str(inside), "--wd=.", *command]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(place)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + PATIENCE_S
        while not kind.under_way(self):
            assert time.monotonic() < deadline, self.said
            if select.select([self.process.stdout], [], [], POLL_S)[0]:
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                assert more, self.said
                self.said += more.decode(errors="replace")
        self.first = next(below(self.process.pid)) if kind.is_apart else self.process.pid
        self.everybody = descriptors_below(self.process.pid)

    def find(self, who: str) -> list[int]:
        """Processes that are called so."""
        everybody = list(below(self.process.pid))
        pattern, place = WHO[who]
        found = [pid for pid in everybody if re.search(pattern, command_line(pid))]
        return [found[place]] if found else []

    def has(self, who: str) -> bool:
        """Whether there is such a process."""
        return bool(self.find(who))

    def kill(self, who: str) -> None:
        """Kills the process that is called so."""
        (pid,) = [self.first] if who == "first" else self.find(who)
        os.kill(pid, signal.SIGKILL)

    def end(self, kind: Kind) -> None:
        """Ends it as its user would."""
        if kind.is_apart:
            self.process.stdin.write(b"exit\n")
            self.process.stdin.flush()
        else:
            self.process.send_signal(signal.SIGINT)

    def await_everybody(self) -> list[str]:
        """Waits until every process of it has ended; those that do not."""
        self.said += self.process.communicate(timeout=PATIENCE_S)[0].decode(errors="replace")
        deadline = time.monotonic() + PATIENCE_S
        return [
            command_line(pid)
            for pid, descriptor in self.everybody.items()
            if not select.select([descriptor], [], [], max(0, deadline - time.monotonic()))[0]
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        for descriptor in self.everybody.values():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        for process in filter(None, (self.process, self.init)):
            process.kill()
            process.communicate()


@pytest.fixture(name="place")
def temporary_files():
    """Not below /tmp, which Mininet has for itself."""
    if ROOT.is_relative_to("/tmp"):
        pytest.skip("the clone is below /tmp, which these tests hide")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        place = Path(directory)
        text = SCENARIO.read_text()
        (place / "long.yaml").write_text(re.sub(r"duration_ms: \d+", "duration_ms: 80000000", text))
        (place / "short.yaml").write_text(
            re.sub(r"duration_ms: \d+", "duration_ms: 100", text[: text.index("  - name: file")])
        )
        yield place


def next_start(place: Path) -> None:
    """Another run, which goes as if nothing had been."""
    command = [SLOTWISE, "simulate", place / "short.yaml"]
    done = subprocess.run(
        command,
        env=os.environ | {"TMPDIR": str(place)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def clean_net(place: Path) -> None:
    """As a user calls it."""
    subprocess.run([ROOT / "scripts" / "clean-net"], env=os.environ | {"TMPDIR": str(place)}, check=True)


def left(place: Path) -> list[str]:
    """Processes, directories and interfaces of runs."""
    mark = f"{MARK}={place}/".encode()
    found = [str(path) for path in place.glob("slotwise-*")]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes():
                found.append(command_line(int(process.name)))
    return found + [name for _, name in socket.if_nameindex() if name != "lo"]


@pytest.mark.parametrize("clean", [next_start, clean_net], ids=lambda function: function.__name__)
@pytest.mark.parametrize(("name", "who", "goes_on"), EVERYBODY)
def test_what_a_killed_process_leaves_is_found(name, who, goes_on, clean, place):
    kind = KINDS[name]
    with Run(kind, place) as run:
        run.kill(who)
        if goes_on:
            run.end(kind)
        assert not run.await_everybody(), run.said
        clean(place)
        # The kernel deletes the interfaces of a namespace some time after it.
        deadline = time.monotonic() + PATIENCE_S
        while left(place) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        assert not left(place), run.said


@pytest.mark.parametrize("name", ["emulate", "simulate", "python-emulate", "mn"])
def test_a_run_that_lives_is_left_alone(name, place):
    kind = KINDS[name]
    with Run(kind, place) as run:
        directories = list(place.glob("slotwise-*"))
        assert directories
        clean_net(place)
        assert list(place.glob("slotwise-*")) == directories
        assert not select.select(run.everybody.values(), [], [], 0)[0], "processes have ended"
        run.end(kind)
        assert not run.await_everybody(), run.said
        assert not left(place)


KILLS = int(os.environ.get("SLOTWISE_KILLS", "12"))
SEED = int(os.environ.get("SLOTWISE_KILLS_SEED", "1"))
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def mounts() -> str:
    """Mounts of this namespace: what holds a namespace without a process is among them."""
    return Path("/proc/self/mountinfo").read_text()


def start(name: str, place: Path) -> subprocess.Popen:
    """A short run."""
    command = [SLOTWISE, name, place / "short.yaml", "--rest-port", "0"]
    return subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def length_s(name: str, place: Path) -> float:
    """Time that such a run takes when nobody kills it."""
    began = time.monotonic()
    with start(name, place) as process:
        output = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 0, output.decode(errors="replace")
    return time.monotonic() - began


def soon(is_so: Callable[[], bool]) -> bool:
    """Waits until something is so: the kernel ends processes and namespaces some time after their first process."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return is_so()


def test_runs_killed_at_random_moments_leave_nothing(place):
    """SLOTWISE_KILLS: number of runs; each is sent a signal at a moment of its length, from its start to its end, by SLOTWISE_KILLS_SEED."""
    random, counts = Random(SEED), Counter()
    lengths_s = {name: length_s(name, place) for name in ("emulate", "simulate")}
    there = mounts()
    for kill in range(KILLS):
        name = random.choice(list(lengths_s))
        number = random.choice(SIGNALS)
        after_s = random.uniform(0, lengths_s[name])
        title = f"kill {kill}: {name}, {number.name} after {after_s:.3f} s"
        with start(name, place) as process:
            # The moment itself is what is random.
            with suppress(subprocess.TimeoutExpired):
                process.wait(after_s)
            everybody = descriptors_below(process.pid)
            process.send_signal(number)
            output = process.communicate(timeout=PATIENCE_S)[0].decode(errors="replace")
        status = process.returncode
        # 0: it had ended. Before it has handlers, a signal ends it as any process.
        expected = {0, -number} if number == signal.SIGKILL else {0, 1, -number, 128 + number}
        assert status in expected, f"{title}: status {status}\n{output}"
        ended = [select.select([each], [], [], PATIENCE_S)[0] for each in everybody.values()]
        for descriptor in everybody.values():
            os.close(descriptor)
        assert all(ended), f"{title}: processes are left\n{output}"
        directories = {str(path) for path in place.glob("slotwise-*")}
        counts[name, number.name] += 1
        counts["run directories left to the next run"] += len(directories)
        assert soon(lambda known=directories: set(left(place)) <= known), f"{title}: {left(place)}\n{output}"
        assert mounts() == there, f"{title}: mounts are left"
        if directories:
            next_start(place)
            assert not left(place), title
    print(f"{KILLS} runs, seed {SEED}, lengths {lengths_s}: {dict(counts)}")
