# SPDX-License-Identifier: Apache-2.0
"""Mininet's edge switch in front of a fabric process that all edges of a net share."""
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from slotwise import home
from slotwise.experiment import Experiment
from slotwise.net import AccessEdge, NetworkError

# Seen by scripts/clean-net in the environment of the fabric and of everything it starts.
MARK = "SLOTWISE_FABRIC"
STOP_PATIENCE_S = 20


class Fabric:
    """A running `slotwise emulate SCENARIO --attach PORTS`: core, P4 edges and controller of one net."""

    def __init__(self, scenario: dict, ports: list[dict]):
        """Starts it and waits until it is ready. Raises NetworkError."""
        self._directory = tempfile.TemporaryDirectory(prefix="slotwise-fabric-")
        here = Path(self._directory.name)
        Experiment(scenario).save(here / "scenario.yaml")
        (here / "ports.json").write_text(json.dumps(ports))
        self._log = open(here / "log", "w+b")
        self._process = subprocess.Popen(
            [home.slotwise_command(), "emulate", str(here / "scenario.yaml"), "--attach", str(here / "ports.json")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, env=os.environ | {MARK: "1"},
            # Ctrl-C in Mininet's command line is for the hosts' programs.
            start_new_session=True,
        )
        if not self._is_ready():
            self._process.wait()
            self._log.seek(0)
            said = self._log.read().decode(errors="replace").strip()
            self.stop()
            raise NetworkError(f"slotwise emulate ended with status {self._process.returncode}: {said}")

    def _is_ready(self) -> bool:
        """Reads what it prints until it says that it is ready; False if it ends before."""
        return any(line.startswith(b"{") and json.loads(line).get("event") == "ready" for line in self._process.stdout)

    def stop(self) -> None:
        """Ends the process and forgets its files."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.communicate(timeout=STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._log.close()
        self._directory.cleanup()


class AgileEdge(AccessEdge):
    """An edge of an agile star. All edges of a net share one fabric."""

    fabric: Fabric | None = None

    @classmethod
    def batchStartup(cls, switches: tuple["AgileEdge", ...], **_params) -> tuple["AgileEdge", ...]:
        """Called by Mininet when all edges have their interfaces."""
        ports = [port for switch in sorted(switches, key=lambda switch: switch.edge) for port in switch.access_ports()]
        fabric = Fabric(switches[0].scenario, ports)
        for switch in switches:
            switch.fabric = fabric
        return switches

    @classmethod
    def batchShutdown(cls, switches: tuple["AgileEdge", ...], **_params) -> tuple["AgileEdge", ...]:
        """Called by Mininet before it stops edge by edge."""
        for switch in switches:
            if switch.fabric:
                switch.fabric.stop()
            for each in switches:
                each.fabric = None
        # None is stopped yet: Mininet still has to delete their interfaces.
        return ()
