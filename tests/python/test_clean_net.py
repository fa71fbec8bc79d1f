# SPDX-License-Identifier: Apache-2.0
"""scripts/clean-net, in PID and network namespaces of its own: it deletes interfaces."""

import fcntl
import os
import re
import subprocess
from contextlib import contextmanager

import pytest

from slotwise.tools import home
from slotwise.tools.rundir import MARK, RunDirectory

# A process of a dead run, one of a living one and one of nobody, known by their environments; an interface of an edge and one of
# somebody else. The living run is outside of the PID namespace. What clean-net says and what is left goes to standard output.
SCENE = """
set -e
mkfifo up
{mark}=$PWD/slotwise-Ab12Cd bash -c 'echo > up; sleep 1000 & wait' & dead=$!
read < up
{mark}={live} sleep 1000 & live=$!
sleep 1000 & other=$!
ip link add e3-eth1 type veth peer name peer
ip link add mine type bridge
{clean_net}
wait $dead || echo "dead $?"
kill -0 $live && echo "live lives"
kill -0 $other && echo "other lives"
ip -brief link show
"""


@pytest.fixture
def scene(namespaces, tmp_path):
    """Runs it beside a living run's directory, in a place of its own for temporary files."""
    (tmp_path / "slotwise-backup").mkdir()
    (tmp_path / "slotwise-Unborn").mkdir(mode=0o700)
    (tmp_path / "slotwise-farm-unborn_1").mkdir(mode=0o700)
    (tmp_path / "slotwise-farm-unborn_1" / "lock.part").touch()
    for dead in ("slotwise-Ab12Cd", "slotwise-hosts-abcd_123"):
        (tmp_path / dead).mkdir()
        (tmp_path / dead / "lock").touch()

    def run(live):
        script = SCENE.format(mark=MARK, live=live, clean_net=home.root() / "scripts" / "clean-net")
        return subprocess.run(
            ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", script],
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@contextmanager
def closing_descriptor(descriptor):
    """Closes it in the end."""
    try:
        yield
    finally:
        os.close(descriptor)


def test_only_what_belongs_to_dead_runs_goes(scene, tmp_path):
    live = tmp_path / "slotwise-living"
    live.mkdir()
    (tmp_path / "slotwise-Papers").mkdir(mode=0o700)
    (tmp_path / "slotwise-Papers" / "paper").touch()
    about_to_live = tmp_path / "slotwise-Birth1"
    about_to_live.mkdir(mode=0o700)
    held = os.open(about_to_live, os.O_RDONLY)
    with open(live / "lock", "w", encoding="utf-8") as lock, closing_descriptor(held):
        fcntl.flock(lock, fcntl.LOCK_EX)
        fcntl.flock(held, fcntl.LOCK_EX)
        result = scene(live)
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert "dead 137" in lines
    (killed,) = [line for line in lines if line.startswith("processes: ")]
    assert re.fullmatch(r"processes: \d+ \((bash|sleep)\) \d+ \((bash|sleep)\)", killed)
    assert "live lives" in lines and "other lives" in lines
    assert "interfaces: none" in lines and any(line.startswith("e3-eth1") for line in lines), (
        "they may be the living run's"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "slotwise-Birth1",
        "slotwise-Papers",
        "slotwise-backup",
        "slotwise-living",
        "up",
    ]


def test_interfaces_go_when_no_run_lives(scene, tmp_path):
    result = scene(tmp_path / "slotwise-hosts-abcd_123")
    lines = result.stdout.splitlines()
    assert "live lives" not in lines
    assert "interfaces: e3-eth1" in lines
    assert any(line.startswith("mine ") for line in lines)
    assert not any(line.startswith("e3-eth1") for line in lines)


# A run whose directory a cleaner of /tmp deletes, then one of its processes; one that sees another file system in the place of the
# directory of a run that lives; marks that are none; a run of which nothing is left to be seen. Each process
# has its environment once it has written to its `up`.
DOUBTS = """
set -e
start() {{ rm -f up; mkfifo up; "$@" bash -c 'echo > up; sleep 1000 & wait' 8>&- 9>&- & read < up; }}
mkdir slotwise-gone slotwise-seen
exec 8> slotwise-gone/lock 9> slotwise-seen/lock
flock 8; flock 9
start env {mark}=$PWD/slotwise-gone; gone=$!
rm -r slotwise-gone
start env {mark}=$PWD/slotwise-seen unshare --mount sh -c 'mount -t tmpfs none "$PWD/slotwise-seen"; exec "$@"' sh; elsewhere=$!
start env {mark}=; empty=$!
start env {mark}=relative/dir; relative=$!
start env {mark}=/nowhere/slotwise-lost; lost=$!
mkdir slotwise-fifo; mkfifo slotwise-fifo/lock
start env {mark}=$PWD/slotwise-fifo; odd=$!
{clean_net}
for one in gone elsewhere empty relative lost odd; do kill -0 ${{!one}} && echo "$one lives"; done
"""


def test_what_may_belong_to_a_living_run_is_left_alone(namespaces, tmp_path):
    script = DOUBTS.format(mark=MARK, clean_net=home.root() / "scripts" / "clean-net")
    result = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "processes: none"
    for one in ("gone", "elsewhere", "empty", "relative", "lost", "odd"):
        assert f"{one} lives" in lines
    assert re.search(r"\d+ \(sleep\)", result.stderr)
    for doubt, why in (
        ("/nowhere/slotwise-lost", "lock not found"),
        (f"{tmp_path}/slotwise-fifo", "lock not readable"),
    ):
        assert any(doubt in line and why in line for line in result.stderr.splitlines()), result.stderr
    assert (tmp_path / "slotwise-seen" / "lock").exists()


def test_a_directory_is_locked_while_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with RunDirectory("experiment") as name:
        assert os.path.basename(name).startswith("slotwise-experiment-")
        with open(os.path.join(name, "lock"), encoding="utf-8") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not list(tmp_path.iterdir())
