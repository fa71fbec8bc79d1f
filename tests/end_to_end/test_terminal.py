# SPDX-License-Identifier: Apache-2.0
"""The view of a run on a terminal: a pseudo-terminal, and as much of one as the view is allowed to use."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from contextlib import contextmanager

import pytest

from test_runs import ROOT, SLOTWISE

SHORT = ROOT / "topologies" / "star3-short.yaml"
LONG = [ROOT / "topologies" / "star4.yaml", "--duration", "3600"]
PATIENCE_S = 120
SIZE = (100, 60)
"""Columns and lines."""
STEP = re.compile("\x1b\\[([0-9;]*)([AGJm])|[\r\n]|[^\x1b\r\n]")
"""Up, to a column, clear below, style: whatever else is asked of a terminal fails a test, as somebody would have to undo it."""


ENDED = {
    "0": lambda _: set(),
    "39": lambda now: {style for style in now if not style.startswith("38")},
    "22": lambda now: now - {"1", "2"},
}
"""What each of these leaves of the styles that were on."""


class Screen:
    """What a person sees; it has no memory of what left it at the top, and cuts lines when it gets narrower, as xterm does."""

    def __init__(self, size):
        (self.columns, self.lines), self.rows = size, [""]
        self.line = self.column = self.pictures = self.wraps = 0
        self.styles = set()
        self.rest = ""

    def resize(self, size):
        self.columns, self.lines = size
        self.rows = [row[: self.columns] for row in self.rows]
        self.column = min(self.column, self.columns - 1)
        self.scroll()

    def scroll(self):
        gone = max(0, len(self.rows) - self.lines)
        self.rows = self.rows[gone:]
        self.line = max(0, self.line - gone)

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b" and not re.match("\x1b\\[[0-9;?]*[@-~]", text[at:]) and len(text) - at < 16:
                self.rest = text[at:]
                return
            step = STEP.match(text, at)
            assert step, f"not allowed: {text[at : at + 16]!r}"
            at = step.end()
            self.take(step)

    def take(self, step):
        match step[2], step[1] or "0":
            case "A", up:
                self.line = max(0, self.line - int(up))
            case "G", column:
                self.column = int(column) - 1
            case "J", "0":
                self.pictures += 1
                self.rows[self.line :] = [self.rows[self.line][: self.column]]
            case "m", style:
                self.styles = ENDED.get(style, lambda now: now | {style})(self.styles)
            case None, _:
                self.write(step[0])

    def write(self, letter):
        if letter == "\r":
            self.column = 0
            return
        if letter == "\n":
            self.line += 1
            if self.line == len(self.rows):
                self.rows.append("")
                self.scroll()
            return
        if self.column == self.columns:
            self.wraps += 1
            self.write("\r")
            self.write("\n")
        row = self.rows[self.line].ljust(self.column)
        self.rows[self.line] = row[: self.column] + letter + row[self.column + 1 :]
        self.column += 1


class Run:
    """A command on a terminal of its own."""

    def __init__(self, pid, terminal, size):
        self.pid, self.terminal, self.screen = pid, terminal, Screen(size)

    def resize(self, size):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def read(self):
        """Whether there was more."""
        try:
            text = os.read(self.terminal, 1 << 16)
        except OSError:
            # Nobody has the other end open any more.
            return False
        self.screen.feed(text.decode(errors="replace"))
        return bool(text)

    def until(self, is_so):
        while not is_so(self.screen):
            assert self.read(), "\n".join(self.screen.rows)

    def pictures(self, count):
        """Waits for so many more."""
        before = self.screen.pictures
        self.until(lambda screen: screen.pictures >= before + count)

    def finish(self):
        """Exit status."""
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def on_terminal(*arguments, term="xterm", size=SIZE):
    pid, terminal = pty.fork()
    if pid == 0:
        # The size is there before anything is drawn.
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        os.execve(SLOTWISE, ["slotwise", *map(str, arguments)], os.environ | {"TERM": term})
    watch = os.pidfd_open(pid)
    try:
        yield Run(pid, terminal, size)
    finally:
        try:
            signal.pidfd_send_signal(watch, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(watch)
        os.close(terminal)


def pictured(rows):
    """Cells of the matrix that is on the screen, by row: (slots, Mb/s), or None."""
    heads = [at for at, row in enumerate(rows) if row.startswith("slots | Mb/s")]
    assert len(heads) == 1, "one picture, where the one before was"
    edges = len(re.findall("to edge", rows[heads[0]]))
    cells = [
        re.findall(r"([\d.]+) \| +([\d.]+)|(?<=  )([-.])(?= |$)", row)
        for row in rows[heads[0] + 1 : heads[0] + 1 + edges]
    ]
    return [[(float(slots), float(rate)) if slots else None for slots, rate, _ in row] for row in cells]


@pytest.mark.nightly
def test_a_picture_has_what_the_events_have_and_the_terminal_is_as_it_was(tmp_path):
    with on_terminal("simulate", SHORT, "--events", tmp_path / "events", "--report", tmp_path / "report") as run:
        before = termios.tcgetattr(run.terminal)
        run.until(lambda screen: screen.pictures > 1)
        assert termios.tcgetattr(run.terminal) == before
        run.until(lambda screen: any("total" in row for row in screen.rows))
        assert run.finish() == 0
    assert not run.screen.styles
    snapshots = [
        event
        for event in map(json.loads, (tmp_path / "events").read_text().splitlines())
        if event["event"] == "snapshot"
    ]
    last = snapshots[-1]
    drops = json.loads((tmp_path / "report").read_text())["drops"]
    assert f"violations 0, total {sum(map(sum, last['goodput_bps'])) / 1e6:.1f} Mb/s" in "\n".join(run.screen.rows)
    assert any(row.endswith(f", dropped {sum(drop['packets'] for drop in drops)}") for row in run.screen.rows)
    shown = pictured(run.screen.rows)
    assert any(cell for row in shown for cell in row)
    for source, row in enumerate(shown):
        for sink, cell in enumerate(row):
            slots, rate = last["slots"][source][sink], last["goodput_bps"][source][sink] / 1e6
            assert (
                cell == (pytest.approx(slots, abs=0.051), pytest.approx(rate, abs=0.051))
                if cell
                else slots == rate == 0
            )


@pytest.mark.nightly
def test_what_happened_last_is_on_the_terminal(tmp_path):
    scenario = ROOT / "experiments" / "faults" / "combined.yaml"
    with on_terminal("simulate", scenario, "--duration", "2", "--report", tmp_path / "report", size=(200, 100)) as run:
        assert run.finish() == 0
    faults = json.loads((tmp_path / "report").read_text())["faults"]["rows"]
    at = max(index for index, row in enumerate(run.screen.rows) if row.startswith("violations 0, total"))
    shown = [re.fullmatch(r"([\d.]+) s  ([a-z-]+)[^:]*(: recovered)?", row) for row in run.screen.rows[at + 1 : at + 4]]
    assert all(shown), run.screen.rows[at : at + 5]
    assert {line[2] for line in shown} <= {fault["kind"] for fault in faults}
    assert all(0 < float(line[1]) <= 2 for line in shown)


@pytest.mark.nightly
def test_terminals_are_resized_while_they_are_drawn_on(tmp_path):
    with on_terminal("simulate", *LONG, "--report", tmp_path / "report") as run:
        run.pictures(3)
        for size in ((10, 3), (1, 1), (200, 60), (40, 12)):
            run.resize(size)
            # What had been drawn before it was known.
            run.pictures(2)
            run.screen.resize(size)
            before = run.screen.wraps
            run.pictures(3)
            assert run.screen.wraps == before and len(run.screen.rows) <= size[1], run.screen.rows
        run.until(lambda screen: any(row.startswith("busiest pairs") for row in screen.rows))
        os.kill(run.pid, signal.SIGTERM)
        assert run.finish() == 1, "it was not whole"
    assert not run.screen.styles


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["key", "hangup"])
def test_a_terminal_is_left_as_it_was_at_the_keys_and_when_it_goes(tmp_path, how):
    report = tmp_path / "report"
    with on_terminal("simulate", *LONG, "--report", report) as run:
        before = termios.tcgetattr(run.terminal)
        run.pictures(2)
        if how == "key":
            os.write(run.terminal, b"\x03")
        else:
            os.kill(run.pid, signal.SIGHUP)
        assert run.finish() == 1
        assert termios.tcgetattr(run.terminal) == before
    assert not run.screen.styles
    assert json.loads(report.read_text())["verdict"]["failures"] == ["interrupted"]


def test_what_is_no_terminal_or_understands_text_only_gets_lines(tmp_path):
    with on_terminal("simulate", SHORT, "--report", tmp_path / "report", term="dumb") as run:
        assert run.finish() == 0
    assert run.screen.pictures == 0
    piped = subprocess.run(
        [SLOTWISE, "simulate", SHORT, "--report", tmp_path / "report"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "\x1b" not in piped.stdout and "Mb/s" in piped.stdout
