# SPDX-License-Identifier: Apache-2.0
"""`slotwise emulate --attach`: interfaces that are deleted and made anew in mid-run. Run as test_runs.py is."""
import json
import signal
import subprocess
from contextlib import ExitStack

from test_runs import ROOT, Emulation, load_report

from slotwise import scenario as scenarios

SCENARIO = ROOT / "topologies" / "star3-short.yaml"
HOSTS = {host.edge: host for host in scenarios.hosts(scenarios.load(SCENARIO))}
READY = '{"event":"ready"}'


class Host:
    """A host of the scenario in a network namespace, with a veth pair to this one."""

    def __init__(self, edge: int, stack: ExitStack):
        self.host = HOSTS[edge]
        self.interface = f"access{edge}"
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)  # pylint: disable=consider-using-with
        stack.callback(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        holder.stdout.readline()
        self.number = holder.pid

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
        return subprocess.run(["nsenter", "--net", "--target", str(self.number), *command], check=False, capture_output=True, text=True)

    def reaches(self, other: "Host") -> bool:
        """Whether a packet comes back within some time."""
        return self.run("ping", "-c", "1", "-w", "20", other.host.ip).returncode == 0


def test_an_interface_made_anew_takes_its_place_again(tmp_path):
    report, ports = tmp_path / "report.json", tmp_path / "ports.json"
    with ExitStack() as stack:
        one, other = Host(0, stack), Host(1, stack)
        for host in (one, other):
            host.connect()
            stack.callback(host.disconnect)
        ports.write_text(json.dumps([{"edge": host.host.edge, "port": 1, "interface": host.interface} for host in (one, other)]))
        run = stack.enter_context(Emulation("--attach", ports, "--report", report, "--rest-port", 0, scenario=SCENARIO))
        run.read_until(READY)
        assert one.reaches(other)
        other.disconnect()
        run.read_until("slotwise emulate: interface access1 of port 1 of edge 1 is gone")
        other.connect()
        run.read_until("slotwise emulate: interface access1 was made anew; port 1 of edge 1 goes on with it")
        assert one.reaches(other) and other.reaches(one)
        # At once, before anybody has looked.
        one.disconnect()
        one.connect()
        run.read_until("interface access0 was made anew")
        assert one.reaches(other) and other.reaches(one)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    notes = [note.split(" of fabric time ")[-1] for note in load_report(report)["verdict"]["notes"] if "interface access" in note]
    gone, again, *rest = notes
    assert gone == "interface access1 of port 1 of edge 1 is gone"
    assert again == "interface access1 was made anew; port 1 of edge 1 goes on with it"
    assert rest[-1] == "interface access0 was made anew; port 1 of edge 0 goes on with it"
