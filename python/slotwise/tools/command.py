# SPDX-License-Identifier: Apache-2.0
"""Runs of the engine's command: its output goes to the terminal, and the last lines of standard error are retained."""

import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import NamedTuple

from slotwise.tools import home
from slotwise.tools.rundir import MARK

# Enough for every problem of a scenario; messages show the last lines.
KEPT_BYTES = 1 << 20
SHOWN_LINES = 40
MOST_LINE_BYTES = 4096
# A child of the command may hold its standard error open after its end.
DRAIN_S = 2


class Ended(NamedTuple):
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


def run(*arguments: str, directory: str, quiet: bool = False) -> Ended:
    """Runs `slotwise ARGUMENTS` to its end; the command must support --until-input-ends. `quiet`: no output to the terminal. After Ctrl-C
    the command has time to write its report; a second Ctrl-C kills it. `directory`: the run's (`RunDirectory`). Raises
    home.CommandNotFound."""
    command = home.slotwise_command()
    said = _Kept()
    try:
        # The system closes the other end of its input when this process is no more, whatever thread this is.
        process = subprocess.Popen(
            [command, *arguments, "--until-input-ends"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.PIPE,
            env=os.environ | {MARK: directory},
        )
    except OSError as error:
        raise home.CommandNotFound(f"{command}: cannot be started: {error.strerror}") from error
    reader = Thread(target=_pass_on, args=(process.stderr, said, quiet), daemon=True)
    reader.start()
    try:
        try:
            process.wait()
        except KeyboardInterrupt:
            # It may have been meant for this process only.
            process.stdin.close()
            process.wait()
            raise
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        process.stdin.close()
    reader.join(DRAIN_S)
    return Ended(process.returncode, list(said.lines))


def check(file: str, *options: str) -> Ended:
    """Runs `slotwise check FILE OPTIONS`. Raises home.CommandNotFound."""
    command = home.slotwise_command()
    try:
        done = subprocess.run(
            [command, "check", file, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise home.CommandNotFound(f"{command}: cannot be started: {error.strerror}") from error
    said = _Kept()
    for line in done.stderr.decode(errors="replace").splitlines():
        said.append(line)
    return Ended(done.returncode, list(said.lines))


def plain(file: str) -> tuple[Ended, str]:
    """Runs `slotwise check FILE` for the plain form of a scenario, JSON. Raises home.CommandNotFound."""
    with TemporaryDirectory() as directory:
        written = Path(directory, "plain.json")
        ended = check(file, "--plain", str(written))
        return ended, written.read_text() if ended.status == 0 else ""


class _Kept:
    """Last lines of a text, at most KEPT_BYTES."""

    def __init__(self):
        self.lines: deque[str] = deque()
        self._length = 0

    def append(self, line: str) -> None:
        self.lines.append(line)
        self._length += len(line) + 1
        while self._length > KEPT_BYTES:
            self._length -= len(self.lines.popleft()) + 1


def _pass_on(stream, said: _Kept, quiet: bool) -> None:
    while line := stream.readline(MOST_LINE_BYTES):
        text = line.decode(errors="replace")
        said.append(text.rstrip())
        if not quiet:
            sys.stderr.write(text)
            sys.stderr.flush()
