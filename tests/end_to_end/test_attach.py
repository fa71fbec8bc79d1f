# SPDX-License-Identifier: Apache-2.0
"""`slotwise emulate --attach`: interfaces that are deleted and made anew in mid-run; hosts of edges and of routers. Run as test_runs.py is."""

import json
import os
import re
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from slotwise import scenario as scenarios
from test_runs import ROOT, Emulation, load_report

pytestmark = pytest.mark.nightly

SCENARIO = ROOT / "topologies" / "star3-short.yaml"
MIX = ROOT / "topologies" / "mixed.yaml"
READY = '{"event":"ready"}'


class Host:
    """A host of the scenario in a network namespace, with a veth pair to this one."""

    def __init__(self, host: scenarios.HostId | scenarios.RoutedHost, stack: ExitStack):
        self.host = host
        # Of its own: one that a killed test has left does not matter.
        self.interface = f"a{os.getpid()}-{host.node}"
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
        stack.callback(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        holder.stdout.readline()
        self.number = holder.pid

    @property
    def entry(self) -> dict:
        """In the list of interfaces."""
        place = (
            {"router": int(self.host.switch[1:])}
            if isinstance(self.host, scenarios.RoutedHost)
            else {"edge": self.host.edge}
        )
        return {**place, "port": self.host.access_port, "interface": self.interface}

    def connect(self) -> None:
        """Makes the pair."""
        here = f"ip link add {self.interface} type veth peer name eth0 address {self.host.mac} netns {self.number}"
        there = f"ip address add {self.host.ip}/8 dev eth0 && ip link set dev eth0 mtu 1450 up"
        subprocess.run(["sh", "-ec", f"{here}; ip link set dev {self.interface} mtu 1450 up"], check=True)
        assert self.run("sh", "-c", there).returncode == 0

    def disconnect(self) -> None:
        """Deletes it."""
        subprocess.run(["ip", "link", "delete", self.interface], check=True)

    def run(self, *command: str) -> subprocess.CompletedProcess:
        """A command in the host."""
        return subprocess.run(
            ["nsenter", "--net", "--target", str(self.number), *command], check=False, capture_output=True, text=True
        )

    def reaches(self, other: "Host") -> bool:
        """Whether a packet comes back within some time."""
        return self.run("ping", "-c", "1", "-w", "20", other.host.ip).returncode == 0

    def hears(self, other: "Host") -> bool:
        """Whether a packet comes back at once."""
        return self.run("ping", "-c", "1", "-W", "1", other.host.ip).returncode == 0


def connected(stack: ExitStack, ports: Path, *hosts: scenarios.HostId | scenarios.RoutedHost) -> list[Host]:
    """These hosts, whose interfaces the list says."""
    made = [Host(host, stack) for host in hosts]
    for host in made:
        host.connect()
        stack.callback(host.disconnect)
    ports.write_text(json.dumps([host.entry for host in made]))
    return made


def test_an_interface_made_anew_takes_its_place_again(tmp_path):
    report, ports = tmp_path / "report.json", tmp_path / "ports.json"
    with ExitStack() as stack:
        one, other = connected(stack, ports, *scenarios.hosts(scenarios.load(SCENARIO))[:2])
        run = stack.enter_context(Emulation("--attach", ports, "--report", report, "--rest-port", 0, scenario=SCENARIO))
        run.read_until(READY)
        assert one.reaches(other)
        other.disconnect()
        run.read_until(f"slotwise emulate: interface {other.interface} of port 1 of edge 1 disappeared")
        other.connect()
        run.read_until(f"slotwise emulate: interface {other.interface} recreated; port 1 of edge 1 uses it")
        assert one.reaches(other) and other.reaches(one)
        # At once, before anybody has looked.
        one.disconnect()
        one.connect()
        run.read_until(f"interface {one.interface} recreated")
        assert one.reaches(other) and other.reaches(one)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    notes = [
        re.sub(r"^at \d+\.\d s: ", "", note) for note in load_report(report)["verdict"]["notes"] if "interface " in note
    ]
    gone, again, *rest = notes
    assert gone == f"interface {other.interface} of port 1 of edge 1 disappeared"
    assert again == f"interface {other.interface} recreated; port 1 of edge 1 uses it"
    assert rest[-1] == f"interface {one.interface} recreated; port 1 of edge 0 uses it"


def test_hosts_of_edges_and_of_routers_reach_each_other(tmp_path):
    """Whoever attaches them cuts a link of each part, by commands."""
    report, ports = tmp_path / "report.json", tmp_path / "ports.json"
    scenario = scenarios.load(MIX)
    by_name = {host.name: host for host in [*scenarios.hosts(scenario), *scenarios.routed_hosts(scenario)]}
    with ExitStack() as stack:
        plain, lab, desk, far = connected(
            stack, ports, *(by_name[name] for name in ("h0_0", "lab.1", "desk.0", "far.0"))
        )
        run = stack.enter_context(
            Emulation("--attach", ports, "--report", report, "--rest-port", 0, scenario=MIX, stdin=subprocess.PIPE)
        )

        def set_fibre(name: str, is_up: bool) -> None:
            run.process.stdin.write(json.dumps({"command": "fibre", "name": name, "up": is_up}) + "\n")
            run.process.stdin.flush()
            run.read_until(json.dumps({"event": "fibre", "name": name, "up": is_up}, separators=(",", ":")))

        run.read_until(READY)
        assert all(host.reaches(far) for host in (plain, lab, desk)) and far.reaches(plain)
        for fibre in ("lab-west", "edge2-core0", "star-east"):
            set_fibre(fibre, False)
            assert not lab.hears(far), fibre
            assert fibre == "edge2-core0" or plain.reaches(desk)
            set_fibre(fibre, True)
            assert lab.reaches(far), fibre
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    assert load_report(report)["invariants"] == {
        "collision": 0,
        "guard": 0,
        "ungranted": 0,
        "duplicate": 0,
        "astray": 0,
        "first": [],
    }
