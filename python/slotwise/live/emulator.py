# SPDX-License-Identifier: Apache-2.0
"""Mininet switch in front of an emulator process shared by all edges and routers of a net, and the CLI commands for it."""

import json
import os
import signal
import subprocess
from collections import deque
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

from mininet.cli import CLI
from mininet.link import Link
from mininet.log import error, output

from slotwise.errors import SlotwiseError
from slotwise.live.net import AccessSwitch, NetworkError, ports_of
from slotwise.network import Document
from slotwise.scenario import fibre_names
from slotwise.tools import home
from slotwise.tools.rundir import MARK, RunDirectory

STOP_PATIENCE_S = 20
ANSWER_PATIENCE_S = 5
KEPT_LINES = 20
MOST_LOG_BYTES = 1 << 16


class FabricDied(SystemExit):
    """Failure of the emulator to start, or its unexpected end. The program exits with status 1: after any other exception `mn` would
    kill processes on the machine by name, delete files in /tmp, and exit with status 0."""


class Fabric:
    """A running `slotwise emulate SCENARIO --attach PORTS`: cores, P4 edges, routers and controller of one net."""

    def __init__(self, scenario: dict, ports: list[dict], options: dict[str, object] | None = None):
        """Starts the process and waits until it is ready. `options`: further options of the command, by name. Raises NetworkError."""
        self._directory = RunDirectory("fabric")
        here = Path(self._directory.name)
        Document(scenario).save(here / "scenario.yaml")
        (here / "ports.json").write_text(json.dumps(ports))
        self._log = open(here / "log", "w+b")  # noqa: SIM115
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._answers: Queue[dict] = Queue()
        self._stopping = False
        self._reader: Thread | None = None
        words = [word for name, value in (options or {}).items() for word in (name, str(value))]
        self._process = subprocess.Popen(
            # Without Mininet nobody would end it.
            [
                home.slotwise_command(),
                "emulate",
                str(here / "scenario.yaml"),
                "--attach",
                str(here / "ports.json"),
                "--until-input-ends",
                *words,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | {MARK: self._directory.name},
            # Ctrl-C in Mininet's command line is for the hosts' programs.
            start_new_session=True,
        )
        if not self._is_ready():
            self._process.wait()
            reason = f"slotwise emulate ended with status {self._process.returncode}: {self._reason()}"
            self.stop()
            raise NetworkError(reason)
        self._reader = Thread(target=self._listen, daemon=True)
        self._reader.start()

    @property
    def has_died(self) -> bool:
        """Returns true after an unexpected end."""
        return not self._stopping and self._process.poll() is not None

    def died(self) -> FabricDied:
        """Exception for an unexpected end."""
        status = self._process.returncode
        how = f"was terminated by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return FabricDied(f"*** the emulator {how}: {self._reason()}")

    def set_fibre(self, name: str, up: bool) -> None:
        """Takes a fibre pair (e.g. edge2-core0) or a link down or brings it up, in both directions. Raises NetworkError."""
        while not self._answers.empty():
            self._answers.get_nowait()
        try:
            self._process.stdin.write(json.dumps({"command": "fibre", "name": name, "up": up}).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answers.get(timeout=ANSWER_PATIENCE_S)
        except (OSError, Empty) as problem:
            raise NetworkError(f"no response from the emulator: {self._reason()}") from problem
        if answer["event"] != "fibre":
            raise NetworkError(answer.get("message", "command rejected by the emulator"))

    def stop(self) -> None:
        """Ends the process, prints its summary, and deletes its files; once."""
        if self._stopping:
            return
        self._stopping = True
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(timeout=STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader:
            self._reader.join(ANSWER_PATIENCE_S)
            output("".join(f"{line}\n" for line in self._said))
        self._process.stdin.close()
        self._log.close()
        self._directory.cleanup()

    def _is_ready(self) -> bool:
        """Reads standard output until the event `ready`. Returns false if the process ends before."""
        return any(line.startswith(b"{") and json.loads(line).get("event") == "ready" for line in self._process.stdout)

    def _listen(self) -> None:
        """Reads responses and, at the end, the summary. Interrupts Mininet if the process ends unexpectedly."""
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self._answers.put(json.loads(line))
            else:
                self._said.append(line.decode(errors="replace").rstrip())
        self._process.wait()
        if self.has_died:
            os.kill(os.getpid(), signal.SIGUSR1)

    def _reason(self) -> str:
        length = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, length - MOST_LOG_BYTES))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        shown = [*self._said, *lines[-KEPT_LINES:]]
        return "\n".join(shown).strip() or "no output"


class AgileSwitch(AccessSwitch):
    """An edge or a router. All switches of a net share one emulator process."""

    fabric: Fabric | None = None

    def __init__(self, name: str, scenario: dict, options: dict[str, object] | None = None, **params):
        super().__init__(name, scenario, **params)
        self.options = options

    @classmethod
    def batchStartup(cls, switches: tuple["AgileSwitch", ...], **_params) -> tuple["AgileSwitch", ...]:
        """Starts the emulator; called by Mininet when all switches have their interfaces."""
        ports = ports_of(switches)
        signal.signal(signal.SIGUSR1, lambda *_: cls._end(switches))
        try:
            fabric = Fabric(switches[0].scenario, ports, switches[0].options)
        except (SlotwiseError, OSError) as problem:
            for switch in switches:
                switch.stop()
            raise FabricDied(f"*** the emulator did not start: {problem}") from problem
        for switch in switches:
            switch.fabric = fabric
            for interface in switch.intfList():
                if interface.link:
                    _stop_before(interface.link, fabric)
        # It may have died before the switches knew it.
        cls._end(switches)
        return switches

    @staticmethod
    def _end(switches: tuple["AgileSwitch", ...]) -> None:
        """Ends Mininet at any point if the emulator has died, without which no packet arrives."""
        fabric = switches[0].fabric
        if fabric and fabric.has_died:
            raise fabric.died()

    @classmethod
    def batchShutdown(cls, switches: tuple["AgileSwitch", ...], **_params) -> tuple["AgileSwitch", ...]:
        """Stops the emulator; called by Mininet before it stops switch by switch."""
        for switch in switches:
            if switch.fabric:
                switch.fabric.stop()
            for each in switches:
                each.fabric = None
        # None is stopped yet: Mininet still has to delete their interfaces.
        return ()


def _stop_before(link: Link, fabric: Fabric) -> None:
    """Stops the emulator before a link: Mininet deletes links, and with them the emulator's interfaces, before it stops switches."""
    delete = link.stop

    def stop() -> None:
        fabric.stop()
        delete()

    link.stop = stop


class AgileCLI(CLI):
    """Mininet's command line with the command `fibre`; it ends when the emulator dies."""

    def __init__(self, mininet, *arguments, **options):
        try:
            super().__init__(mininet, *arguments, **options)
        except FabricDied:
            error("\n")
            mininet.stop()
            raise

    def do_fibre(self, line: str) -> None:
        """Take a fibre pair down or bring it up: fibre edge2-core0 down, fibre edge2-core0 up. Also router links, ring spans, and mesh
        fibres between two switches or to an edge (fibre s0-s2 down, fibre e0-s0 down); in both directions. Without arguments: list all."""
        switches = [switch for switch in self.mn.switches if isinstance(switch, AgileSwitch)]
        if not switches or switches[0].fabric is None:
            error("no emulated network is running\n")
            return
        words = line.split()
        if not words:
            output(" ".join(fibre_names(switches[0].scenario)) + "\n")
        elif len(words) != 2 or words[1] not in ("up", "down"):
            error("expected: fibre NAME up, or fibre NAME down\n")
        else:
            try:
                switches[0].fabric.set_fibre(words[0], words[1] == "up")
            except NetworkError as problem:
                error(f"{problem}\n")
