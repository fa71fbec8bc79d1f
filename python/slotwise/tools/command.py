# SPDX-License-Identifier: Apache-2.0
"""Runs of the engine's command, and their temporary directories.

The output of a run goes to the terminal, and the last lines of standard error are retained."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

from slotwise.tools import home

MARK = "SLOTWISE_RUN"
"""Environment variable of a run's processes with its directory."""
LOCK = "lock"
# Enough for every problem of a scenario; messages show the last lines.
KEPT_BYTES = 1 << 20
SHOWN_LINES = 40
MOST_LINE_BYTES = 4096
# A child of the command may hold its standard error open after its end.
DRAIN_S = 2


@dataclass(frozen=True)
class Ended:
    """Result of a command."""

    status: int
    """Exit status; negative: the signal that ended it."""
    said: list[str]
    """Last lines of standard error, at most KEPT_BYTES."""

    @property
    def reason(self) -> str:
        """Last lines of standard error as text."""
        shown = self.said[-SHOWN_LINES:]
        return "\n".join(shown).strip() or "no output"

    @property
    def how(self) -> str:
        """End of the command as text."""
        return (
            f"was terminated by {signal.Signals(-self.status).name}"
            if self.status < 0
            else f"ended with status {self.status}"
        )


@dataclass(frozen=True)
class Checked(Ended):
    """Result of a check."""

    output: str
    """Standard output."""


def run(*arguments: str, directory: str, quiet: bool = False) -> Ended:
    """Runs `slotwise ARGUMENTS` to its end; the command must support --until-input-ends. `quiet`: no output to the terminal. After Ctrl-C
    the command has time to write its report; a second Ctrl-C kills it. `directory`: the run's (`RunDirectory`). Raises
    home.CommandNotFound."""
    command = home.slotwise_command()
    said = _Kept()
    try:
        # The system closes the other end of its input when this process ends, whichever thread this is.
        process = subprocess.Popen(
            [command, *arguments, "--until-input-ends"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.PIPE,
            env=os.environ | {MARK: directory},
        )
    except OSError as error:
        raise home.CommandNotFound(f"{command}: cannot be started: {error.strerror}") from error
    given = process.stdin
    assert given
    reader = Thread(target=_pass_on, args=(process.stderr, said, quiet), daemon=True)
    reader.start()
    try:
        try:
            process.wait()
        except KeyboardInterrupt:
            # The signal may have been sent to this process only.
            given.close()
            process.wait()
            raise
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        given.close()
    reader.join(DRAIN_S)
    return Ended(process.returncode, list(said.lines))


def check(file: str, *options: str, text: str | None = None) -> Checked:
    """Runs `slotwise check FILE OPTIONS`; `text`: its standard input. Raises home.CommandNotFound."""
    command = home.slotwise_command()
    try:
        done = subprocess.run(
            [command, "check", file, *options],
            input=text or "",
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise home.CommandNotFound(f"{command}: cannot be started: {error.strerror}") from error
    return Checked(done.returncode, done.stderr[-KEPT_BYTES:].splitlines(), done.stdout)


class _Kept:
    """Last lines of a text, at most KEPT_BYTES."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque()
        self._length = 0

    def append(self, line: str) -> None:
        self.lines.append(line)
        self._length += len(line) + 1
        while self._length > KEPT_BYTES:
            self._length -= len(self.lines.popleft()) + 1


def _pass_on(stream: IO[bytes], said: _Kept, quiet: bool) -> None:
    while line := stream.readline(MOST_LINE_BYTES):
        text = line.decode(errors="replace")
        said.append(text.rstrip())
        if not quiet:
            sys.stderr.write(text)
            sys.stderr.flush()


class RunDirectory:
    """Directory `slotwise-WHAT-XXXXXXXX`; a context manager that returns its path and deletes it at the end.

    A live run holds a lock on the file `lock` in it, so that the engine's next run and `scripts/clean-net` can distinguish it from the
    directory of a killed run. The directory itself is locked until that file has its name; the file is deleted last. The engine's module
    `run_directory` does the same."""

    def __init__(self, what: str):
        self._directory, held = _locked_directory(f"slotwise-{what}-")
        self.name = self._directory.name
        # The lock file gets its name once it is locked.
        draft = os.path.join(self.name, "lock.part")
        try:
            self._lock = open(draft, "w", encoding="utf-8")  # noqa: SIM115
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(draft, os.path.join(self.name, LOCK))
        finally:
            os.close(held)

    def cleanup(self) -> None:
        """Deletes the directory."""
        for entry in Path(self.name).iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != LOCK:
                entry.unlink(missing_ok=True)
        self._directory.cleanup()
        self._lock.close()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()


def _locked_directory(prefix: str) -> tuple[tempfile.TemporaryDirectory, int]:
    """New directory, and a descriptor that holds its lock. Until it is locked, a starting run can mistake it for that of a dead run."""
    while True:
        directory = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        with suppress(FileNotFoundError):
            held = os.open(directory.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(held).st_nlink:
                    return directory, held
            os.close(held)
        directory.cleanup()
