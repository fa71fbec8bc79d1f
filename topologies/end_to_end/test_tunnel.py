# SPDX-License-Identifier: Apache-2.0
"""Hosts on another machine: a network namespace that only a cable leads to. Run as test_runs.py is."""
import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack

from test_attach import READY, connected
from test_runs import ROOT, Emulation, load_report

from slotwise import scenario as scenarios

SCENARIO = ROOT / "topologies" / "star3-short.yaml"
NEAR, FAR = "198.51.100.1", "198.51.100.2"
PORT = 51820


class Machine:
    """The other one. Its tunnel and its hosts have names of this test's own."""

    def __init__(self, stack: ExitStack):
        self.name = f"f{os.getpid() % 10**6}"
        self.cable = f"c{os.getpid()}"
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)  # pylint: disable=consider-using-with
        stack.callback(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        holder.stdout.readline()
        self.within = ["nsenter", "--net", "--target", str(holder.pid)]
        for command in (
            ["ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid)],
            ["ip", "address", "add", f"{NEAR}/30", "dev", self.cable],
            ["ip", "link", "set", self.cable, "up"],
            [*self.within, "ip", "address", "add", f"{FAR}/30", "dev", "eth0"],
            [*self.within, "ip", "link", "set", "eth0", "up"],
        ):
            subprocess.run(command, check=True)
        stack.callback(lambda: subprocess.run(["ip", "link", "delete", self.cable], check=False))

    def cut(self, is_cut: bool) -> None:
        """The cable."""
        subprocess.run(["ip", "link", "set", self.cable, "down" if is_cut else "up"], check=True)

    def reaches(self, host: str, other: str, patience_s: int = 20) -> bool:
        """Whether a packet comes back to one of its hosts."""
        ping = ["ping", "-c", "1", "-w", str(patience_s), other]
        return subprocess.run(["ip", "netns", "exec", f"{self.name}-{host}", *ping], check=False, capture_output=True).returncode == 0


def tunnel(*arguments: str, within: list[str] | None = None) -> str:
    """What `slotwise tunnel` prints."""
    command = [*(within or []), sys.executable, "-m", "slotwise.tunnel", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT / "topologies").stdout


def test_an_edge_on_another_machine_is_reached_through_a_tunnel_that_is_measured(tmp_path):
    report, ports = tmp_path / "report.json", tmp_path / "ports.json"
    local, *_ = scenarios.hosts(scenarios.load(SCENARIO))
    keys = {side: tmp_path / f"{side}.key" for side in ("near", "far")}
    public = {side: tunnel("key", key).strip() for side, key in keys.items()}
    with ExitStack() as stack:
        far = Machine(stack)
        name = f"n{os.getpid() % 10**6}"
        common = ["--scenario", SCENARIO, "--hosts", "edge1"]
        stack.callback(lambda: tunnel("down", name))
        stack.callback(lambda: tunnel("down", far.name, within=far.within))
        entries = json.loads(tunnel("up", name, "--side", "near", *common, "--key", keys["near"], "--peer", public["far"]))
        tunnel(
            "up", far.name, "--side", "far", *common, "--key", keys["far"], "--peer", public["near"], "--to", f"{NEAR}:{PORT}", "--namespaces", within=far.within,
        )
        (here,) = connected(stack, ports, local)
        ports.write_text(json.dumps([here.entry, *entries]))
        run = stack.enter_context(Emulation("--attach", ports, "--report", report, "--rest-port", 0, scenario=SCENARIO))
        run.read_until(READY)
        hosts = [host for host in scenarios.hosts(scenarios.load(SCENARIO)) if host.edge == 1]
        for host in hosts:
            assert far.reaches(host.name, local.ip)
            assert here.run("ping", "-c", "1", "-w", "20", "-s", "1300", host.ip).returncode == 0
        # Whoever has no key gets nothing in, though he reaches the machine: nobody listens for VXLAN there.
        subprocess.run(
            [*far.within, "ip", "link", "add", "stranger", "type", "vxlan", "id", "0", "dstport", "4789", "local", FAR, "remote", NEAR], check=True,
        )
        subprocess.run([*far.within, "sh", "-c", f"ip address add {hosts[0].ip}/8 dev stranger && ip link set stranger address {hosts[0].mac} up"], check=True)
        assert subprocess.run([*far.within, "ping", "-c", "1", "-W", "1", local.ip], check=False, capture_output=True).returncode != 0
        listening = subprocess.run(["ss", "-Hlun", f"sport = :{4789}"], check=True, capture_output=True, text=True).stdout
        assert listening == ""
        far.cut(True)
        assert not far.reaches(hosts[0].name, local.ip, patience_s=3)
        far.cut(False)
        assert far.reaches(hosts[0].name, local.ip)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    assert f"  tunnel       {name}0: round trip p50 " in run.output
    measured = load_report(report)["lateness"]["tunnels"]
    assert [each["interface"] for each in measured] == [f"{name}{index}" for index in range(len(hosts))]
    for each in measured:
        assert each["probe"] == "198.18.0.2" and 0 < each["lost"] < each["probes"]
        assert 0 < each["round_trip_p50_ns"] <= each["round_trip_p99_ns"] <= each["round_trip_max_ns"]


def test_what_is_refused_or_taken_away_leaves_other_tunnels_and_names_alone(tmp_path):
    public = {side: tunnel("key", tmp_path / f"{side}.key").strip() for side in ("near", "far")}
    name = f"m{os.getpid() % 10**6}"
    longer = f"{name}1"
    namespace = f"{name}-wg"

    def up(tunnel_name: str, *more: str, within: list[str] | None = None) -> subprocess.CompletedProcess:
        command = [*(within or []), sys.executable, "-m", "slotwise.tunnel", "up", tunnel_name, "--side", "near", "--scenario", str(SCENARIO), "--hosts", "edge1"]
        keys = ["--key", str(tmp_path / "near.key"), "--peer", public["far"]]
        return subprocess.run([*command, *keys, *more], check=False, capture_output=True, text=True, cwd=ROOT / "topologies")

    def links() -> set[str]:
        listed = subprocess.run(["ip", "-j", "link", "show", "type", "vxlan"], check=True, capture_output=True, text=True).stdout
        return {link["ifname"] for link in json.loads(listed or "[]") if link.get("ifname", "").startswith(name)}

    with ExitStack() as stack:
        far = Machine(stack)
        subprocess.run(["ip", "netns", "add", namespace], check=True)
        stack.callback(lambda: subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True))
        refused = up(name)
        assert refused.returncode == 2 and f"namespace {namespace} is there already" in refused.stderr
        subprocess.run(["ip", "netns", "delete", namespace], check=True)

        for each, number in ((name, 1), (longer, 2)):
            stack.callback(lambda each=each: tunnel("down", each))
            done = up(each, "--number", str(number), "--listen", str(PORT + number))
            assert done.returncode == 0, done.stderr
        of_longer = {f"{longer}p", f"{longer}0"}
        all_links = of_longer | {f"{name}p", f"{name}0"}
        assert links() == all_links
        for refused in (up(longer), up(longer, within=far.within)):
            assert refused.returncode == 2 and "is there already" in refused.stderr
        # The port is taken: that is known only when half of it is made.
        assert up(f"{name}2", "--number", "3", "--listen", str(PORT + 1)).returncode == 2
        assert links() == all_links
        tunnel("down", name)
        assert links() == of_longer
        tunnel("down", longer)
        assert not links()
