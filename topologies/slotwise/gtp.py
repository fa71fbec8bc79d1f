# SPDX-License-Identifier: Apache-2.0
"""Files between hosts over GTP, with `slotwise gtp` (docs/gtp.md)."""

import json
import os
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Self

from slotwise.errors import SlotwiseError
from slotwise.home import slotwise_command

# A daemon that is asked to end notes how far its transfers are, and has its session leave, for which a controller may take 5 s twice.
END_S = 15
SERVING = "slotwise gtp: serving at "


class GtpError(SlotwiseError):
    """A command did not do its work; the message is what it said."""


@dataclass(frozen=True)
class Report:
    """What one end of a transfer says of it."""

    values: dict
    """All fields of docs/gtp.md, by their names."""

    @property
    def bytes(self) -> int:
        """Length of the file."""
        return self.values["bytes"]

    @property
    def sha256(self) -> str:
        """Of the file, in hexadecimal digits."""
        return self.values["sha256"]

    @property
    def goodput_bps(self) -> int:
        """Bits of the file a second."""
        return self.values["goodput_bps"]


def _options(options: dict) -> list[str]:
    """`rate_bps=5` is `--rate-bps=5`, `take=True` is `--take`."""
    words = []
    for name, value in options.items():
        if value is False or value is None:
            continue
        option = "--" + name.replace("_", "-")
        # In one word: a value may begin with a hyphen.
        words.append(option if value is True else f"{option}={value}")
    return words


def _said(text: str) -> str:
    """What is wrong, of all that a command says: of wrong arguments the first line, not the hint below it, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return "".join(wrong[:1] or lines[-1:]).removeprefix("slotwise gtp: ").removeprefix("slotwise: ")


def _words(command: str, options: dict, *names: object) -> list[str]:
    """`slotwise gtp COMMAND`: names are no options, whatever they begin with."""
    return [slotwise_command(), "gtp", command, *_options(options), "--", *map(str, names)]


def _run(command: list[str]) -> str:
    """Runs a command; what it printed. Raises GtpError."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GtpError(_said(done.stderr) or f"ended with status {done.returncode}")
    return done.stdout


def new_key(file: Path | str) -> None:
    """Writes a new key to a file, which must not be there yet and only its owner may read. Raises GtpError."""
    _run(_words("key", {}, file))


def receive(
    host: str, file: str, out: Path | str, key: Path | str, within: list[str] | None = None, **options
) -> Report:
    """Gets `file` from a host ("10.0.0.1", "name:5254") that serves it. `options` are the command's: rate_bps, interval_ms, packet_bytes, timeout_s. `within`
    are words before the command, such as those that enter a network namespace. Raises GtpError."""
    words = _words("receive", {"out": out, "key": key, "quiet": True, **options}, host, file)
    return Report(json.loads(_run([*(within or []), *words])))


def send(file: Path | str, host: str, key: Path | str, within: list[str] | None = None, **options) -> Report:
    """Sends a file to a host that serves with `take`; `name` is what it is called there. Otherwise as `receive`. Raises GtpError."""
    words = _words("send", {"key": key, "quiet": True, **options}, file, host)
    return Report(json.loads(_run([*(within or []), *words])))


class Server:
    """A daemon that offers the files of a directory, as a context manager. `options`: bind, take, max_bytes, and those of `receive`. It is of the process that
    started it: one that was forked from that may use its address, and leaves it as it is at the end."""

    def __init__(self, directory: Path | str, key: Path | str, within: list[str] | None = None, **options):
        self._command = [*(within or []), *_words("serve", {"key": key, "quiet": True, **options}, directory)]
        self._process = self._printed = self._reader = self._owner = None
        self.address = ""
        """Where it listens, ADDRESS:PORT, once it does."""
        self.reports: list[Report] = []
        """Of all transfers, once it has ended."""

    def __enter__(self) -> Self:
        self._owner = os.getpid()
        # No pipe that nobody reads meanwhile: it would be full after some hundreds of transfers, and the daemon wait for ever.
        self._printed = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=self._printed, stderr=subprocess.PIPE, text=True
        )
        line = self._process.stderr.readline()
        # Not anywhere in the line: it may be what a controller says.
        if not line.startswith(SERVING):
            self._process.communicate()
            self._printed.close()
            raise GtpError(line.strip().removeprefix("slotwise: ") or "the daemon said nothing")
        self.address = line.removeprefix(SERVING).strip()
        self._reader = Thread(target=deque, args=(self._process.stderr, 0), daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_) -> None:
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
        self._process.stderr.close()
        with self._printed as printed:
            printed.seek(0)
            # Who was killed may have been in the middle of the last one.
            self.reports = [Report(json.loads(line)) for line in printed if line.endswith("\n")]
