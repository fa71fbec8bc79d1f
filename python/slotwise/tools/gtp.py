# SPDX-License-Identifier: Apache-2.0
"""File transfer between hosts over the Group Transport Protocol (GTP), with `slotwise gtp` (docs/gtp.md)."""

import json
import os
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any, Self

from slotwise.errors import SlotwiseError
from slotwise.tools.home import slotwise_command

# On shutdown a daemon stores the progress of its transfers and leaves its session: a controller may take twice 5 s.
END_S = 15
SERVING = "slotwise gtp: serving at "


class GtpError(SlotwiseError):
    """Failure of a command; the message is the command's error."""


@dataclass(frozen=True)
class Report:
    """Report of one end of a transfer."""

    values: dict
    """All fields by name (docs/gtp.md)."""

    @property
    def bytes(self) -> int:
        """Length of the file in bytes."""
        return self.values["bytes"]

    @property
    def sha256(self) -> str:
        """SHA-256 of the file in hexadecimal digits."""
        return self.values["sha256"]

    @property
    def goodput_bps(self) -> int:
        """Goodput of the file in bit/s."""
        return self.values["goodput_bps"]


def _options(options: dict) -> list[str]:
    """Options of the command: `rate_bps=5` is `--rate-bps=5`, `take=True` is `--take`."""
    words = []
    for name, value in options.items():
        if value is False or value is None:
            continue
        option = "--" + name.replace("_", "-")
        # In one word: a value may begin with a hyphen.
        words.append(option if value is True else f"{option}={value}")
    return words


def _said(text: str) -> str:
    """Error in a command's output: for wrong arguments the first line, without the hint below it, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return "".join(wrong[:1] or lines[-1:]).removeprefix("slotwise gtp: ").removeprefix("slotwise: ")


def _words(command: str, options: dict, *names: object) -> list[str]:
    """Arguments of `slotwise gtp COMMAND`; names are separated from options, since they can begin with a hyphen."""
    return [slotwise_command(), "gtp", command, *_options(options), "--", *map(str, names)]


def _run(command: list[str]) -> str:
    """Runs a command and returns its standard output. Raises GtpError."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GtpError(_said(done.stderr) or f"ended with status {done.returncode}")
    return done.stdout


def new_key(file: Path | str) -> None:
    """Writes a new key to a new file that only its owner can read. Raises GtpError."""
    _run(_words("key", {}, file))


def receive(
    host: str, file: str, out: Path | str, key: Path | str, within: list[str] | None = None, **options: Any
) -> Report:
    """Receives `file` from a host ("10.0.0.1", "name:5254") that serves it. `options`: those of the command (rate_bps, interval_ms,
    packet_bytes, timeout_s). `within`: words before the command, for example to enter a network namespace. Raises GtpError."""
    words = _words("receive", {"out": out, "key": key, "quiet": True, **options}, host, file)
    return Report(json.loads(_run([*(within or []), *words])))


def send(file: Path | str, host: str, key: Path | str, within: list[str] | None = None, **options: Any) -> Report:
    """Sends a file to a host that serves with `take`; option `name`: name of the file there. Otherwise as `receive`. Raises GtpError."""
    words = _words("send", {"key": key, "quiet": True, **options}, file, host)
    return Report(json.loads(_run([*(within or []), *words])))


class Server:
    """A daemon that serves the files of a directory, as a context manager. `options`: bind, take, max_bytes, and those of `receive`. It
    belongs to the process that started it: a process forked from that can use the address, but does not stop the daemon."""

    def __init__(self, directory: Path | str, key: Path | str, within: list[str] | None = None, **options: Any):
        self._command = [*(within or []), *_words("serve", {"key": key, "quiet": True, **options}, directory)]
        self._owner: int | None = None
        self._process: subprocess.Popen[str]
        self._printed: IO[str]
        self._reader: Thread
        self.address = ""
        """Listening address, ADDRESS:PORT; empty before the daemon listens."""
        self.reports: list[Report] = []
        """Reports of all transfers, after the daemon has ended."""

    def __enter__(self) -> Self:
        self._owner = os.getpid()
        # No pipe that nobody reads meanwhile: it would be full after some hundreds of transfers, and the daemon wait for ever.
        self._printed = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=self._printed, stderr=subprocess.PIPE, text=True
        )
        errors = self._process.stderr
        assert errors
        line = errors.readline()
        # Not anywhere in the line: it may be what a controller says.
        if not line.startswith(SERVING):
            self._process.communicate()
            self._printed.close()
            raise GtpError(line.strip().removeprefix("slotwise: ") or "no output from the daemon")
        self.address = line.removeprefix(SERVING).strip()
        self._reader = Thread(target=deque, args=(errors, 0), daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if os.getpid() != self._owner:
            # The daemon prints on at the place in the file that both processes have.
            return
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stderr:
            self._process.stderr.close()
        with self._printed as printed:
            printed.seek(0)
            # Who was killed may have been in the middle of the last one.
            self.reports = [Report(json.loads(line)) for line in printed if line.endswith("\n")]
