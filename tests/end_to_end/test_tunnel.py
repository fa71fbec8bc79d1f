# SPDX-License-Identifier: Apache-2.0
"""Hosts on another machine: a network namespace that only a cable leads to. Run as test_runs.py is."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from slotwise import scenario as scenarios
from test_attach import READY, connected
from test_runs import ROOT, Emulation, load_report

pytestmark = pytest.mark.nightly

SCENARIO = ROOT / "topologies" / "star3-short.yaml"
NEAR, FAR = "198.51.100.1", "198.51.100.2"
PORT = 51820
# `slotwise tunnel` that ends without a word after so many commands that change something.
KILLED = """
import os, sys
from slotwise.live import tunnel
said, left = tunnel._said, int(sys.argv.pop(1))
def counted(*command, **more):
    global left
    printed = said(*command, **more)
    left -= "-j" not in command
    if left == 0:
        os._exit(9)
    return printed
tunnel._said = counted
sys.exit(tunnel.main(sys.argv[1:]))
"""


class Machine:
    """The other one. Its tunnel and its hosts have names of this test's own."""

    def __init__(self, stack: ExitStack):
        self.name = f"f{os.getpid() % 10**6}"
        self.cable = f"c{os.getpid()}"
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
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
        return (
            subprocess.run(
                ["ip", "netns", "exec", f"{self.name}-{host}", *ping], check=False, capture_output=True
            ).returncode
            == 0
        )


def tunnel(*arguments: str, within: list[str] | None = None) -> str:
    """What `slotwise tunnel` prints."""
    command = [*(within or []), sys.executable, "-m", "slotwise.live.tunnel", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT / "topologies").stdout


def gone(name: str, within: list[str] | None = None) -> None:
    """Takes an end away if it is still there."""
    command = [*(within or []), sys.executable, "-m", "slotwise.live.tunnel", "down", name]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT / "topologies")
    assert done.returncode == 0 or "not found" in done.stderr, done.stderr


def test_an_edge_on_another_machine_is_reached_through_a_tunnel_that_is_measured(tmp_path):
    report, ports = tmp_path / "report.json", tmp_path / "ports.json"
    local, *_ = scenarios.hosts(scenarios.load(SCENARIO))
    keys = {side: tmp_path / f"{side}.key" for side in ("near", "far")}
    public = {side: tunnel("key", key).strip() for side, key in keys.items()}
    with ExitStack() as stack:
        far = Machine(stack)
        name = f"n{os.getpid() % 10**6}"
        common = ["--scenario", SCENARIO, "--hosts", "edge1"]
        stack.callback(gone, name)
        stack.callback(gone, far.name, within=far.within)
        entries = json.loads(
            tunnel("up", name, "--side", "near", *common, "--key", keys["near"], "--peer", public["far"])
        )
        tunnel(
            "up",
            far.name,
            "--side",
            "far",
            *common,
            "--key",
            keys["far"],
            "--peer",
            public["near"],
            "--to",
            f"{NEAR}:{PORT}",
            "--namespaces",
            within=far.within,
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
            [
                *far.within,
                "ip",
                "link",
                "add",
                "stranger",
                "type",
                "vxlan",
                "id",
                "0",
                "dstport",
                "4789",
                "local",
                FAR,
                "remote",
                NEAR,
            ],
            check=True,
        )
        subprocess.run(
            [
                *far.within,
                "sh",
                "-c",
                f"ip address add {hosts[0].ip}/8 dev stranger && ip link set stranger address {hosts[0].mac} up",
            ],
            check=True,
        )
        assert (
            subprocess.run(
                [*far.within, "ping", "-c", "1", "-W", "1", local.ip], check=False, capture_output=True
            ).returncode
            != 0
        )
        listening = subprocess.run(
            ["ss", "-Hlun", f"sport = :{4789}"], check=True, capture_output=True, text=True
        ).stdout
        assert listening == ""
        far.cut(True)
        assert not far.reaches(hosts[0].name, local.ip, patience_s=3)
        far.cut(False)
        assert far.reaches(hosts[0].name, local.ip)
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.output
    assert f"  tunnel        {name}0: round trip p50 " in run.output
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
        command = [
            *(within or []),
            sys.executable,
            "-m",
            "slotwise.live.tunnel",
            "up",
            tunnel_name,
            "--side",
            "near",
            "--scenario",
            str(SCENARIO),
            "--hosts",
            "edge1",
        ]
        keys = ["--key", str(tmp_path / "near.key"), "--peer", public["far"]]
        return subprocess.run(
            [*command, *keys, *more], check=False, capture_output=True, text=True, cwd=ROOT / "topologies"
        )

    def links() -> set[str]:
        listed = subprocess.run(
            ["ip", "-j", "link", "show", "type", "vxlan"], check=True, capture_output=True, text=True
        ).stdout
        return {link["ifname"] for link in json.loads(listed or "[]") if link.get("ifname", "").startswith(name)}

    with ExitStack() as stack:
        far = Machine(stack)
        subprocess.run(["ip", "netns", "add", namespace], check=True)
        stack.callback(lambda: subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True))
        refused = up(name)
        assert refused.returncode == 2 and f"namespace {namespace} already exists" in refused.stderr
        subprocess.run(["ip", "netns", "delete", namespace], check=True)

        for each, number in ((name, 1), (longer, 2)):
            stack.callback(gone, each)
            done = up(each, "--number", str(number), "--listen", str(PORT + number))
            assert done.returncode == 0, done.stderr
        of_longer = {f"{longer}p", f"{longer}0"}
        all_links = of_longer | {f"{name}p", f"{name}0"}
        assert links() == all_links
        for refused in (up(longer), up(longer, within=far.within)):
            assert refused.returncode == 2 and "already exists" in refused.stderr
        # The port is taken: that is known only when half of it is made.
        assert up(f"{name}2", "--number", "3", "--listen", str(PORT + 1)).returncode == 2
        assert links() == all_links
        tunnel("down", name)
        assert links() == of_longer
        tunnel("down", longer)
        assert not links()


class Ends:
    """Tunnels of this test's own names, and what there is of them."""

    def __init__(self, stack: ExitStack, directory: Path):
        self.name = f"k{os.getpid() % 10**6}"
        self.far = Machine(stack)
        self._directory = directory
        self._public = {side: tunnel("key", directory / f"{side}.key").strip() for side in ("near", "far")}

    def up(
        self, name: str, side: str, *more: str, within: list[str] | None = None, program: list[str] | None = None
    ) -> subprocess.CompletedProcess:
        """Makes an end of a tunnel, or tries to."""
        other = "far" if side == "near" else "near"
        command = [
            *(within or []),
            sys.executable,
            *(program or ["-m", "slotwise.live.tunnel"]),
            "up",
            name,
            "--side",
            side,
            "--scenario",
            str(SCENARIO),
        ]
        words = [
            "--hosts",
            "edge1",
            "--namespaces",
            "--key",
            str(self._directory / f"{side}.key"),
            "--peer",
            self._public[other],
        ]
        return subprocess.run(
            [*command, *words, *more], check=False, capture_output=True, text=True, cwd=ROOT / "topologies"
        )

    def down(self) -> subprocess.CompletedProcess:
        """Takes the first tunnel away, or tries to."""
        command = [sys.executable, "-m", "slotwise.live.tunnel", "down", self.name]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT / "topologies")

    def left(self) -> set[str]:
        """Namespaces and interfaces, on both machines, whose names begin as this test's do."""
        found = {path.name for path in Path("/run/netns").glob(f"{self.name}*")}
        for within in ([], self.far.within):
            listed = subprocess.run(
                [*within, "ip", "-j", "link", "show"], check=True, capture_output=True, text=True
            ).stdout
            found |= {link["ifname"] for link in json.loads(listed) if link["ifname"].startswith(self.name)}
        return found


@pytest.fixture(name="ends")
def tunnels_of_one_machine(tmp_path):
    """Tunnels of a test, all of them gone after it."""
    with ExitStack() as stack:
        ends = Ends(stack, tmp_path)
        for name in (ends.name, f"{ends.name}1"):
            for within in (None, ends.far.within):
                stack.callback(gone, name, within=within)
        yield ends


def test_a_number_that_another_tunnel_of_the_machine_has_is_refused(ends):
    longer = f"{ends.name}1"
    assert ends.up(ends.name, "near", "--number", "7").returncode == 0
    there = ends.left()
    elsewhere = f"interface {ends.name}-wg in namespace {ends.name}-wg already has its address 198.18.0.29"
    for side, within, reason in (
        (
            "near",
            None,
            f"--number: 7: interface {ends.name}p already has its address 198.18.0.29; expected a number that is unique",
        ),
        # Its own packets would come back without a tunnel.
        ("far", None, f"interface {ends.name}p already has its address 198.18.0.29"),
        ("near", ends.far.within, elsewhere),
    ):
        refused = ends.up(longer, side, "--number", "7", "--listen", str(PORT + 1), within=within)
        assert refused.returncode == 2 and reason in refused.stderr, refused.stderr
        assert ends.left() == there
    # The other end.
    made = ends.up(longer, "far", "--number", "7", "--listen", str(PORT + 1), within=ends.far.within)
    assert made.returncode == 0, made.stderr
    tunnel("down", ends.name)
    assert f"{longer}p" in ends.left()
    tunnel("down", longer, within=ends.far.within)
    assert not ends.left()


def test_of_two_tunnels_of_one_number_that_are_made_at_once_one_is_refused(ends):
    with ThreadPoolExecutor() as pool:
        names = (ends.name, f"{ends.name}1")
        ups = [pool.submit(ends.up, name, "near", "--listen", str(PORT + n)) for n, name in enumerate(names)]
        statuses = sorted(up.result().returncode for up in ups)
    assert statuses == [0, 2]


def test_an_end_that_is_taken_away_from_another_namespace_leaves_nothing(ends):
    made = ends.up(ends.name, "far", within=ends.far.within)
    assert made.returncode == 0, made.stderr
    assert any(each.startswith(f"{ends.name}-h") for each in ends.left())
    tunnel("down", ends.name)
    assert not [each for each in ends.left() if each.startswith(f"{ends.name}-")], (
        "but for interfaces that are on their way out there is nothing"
    )
    gone(ends.name, within=ends.far.within)
    assert not ends.left()


def test_what_an_end_has_that_was_never_finished_is_taken_away_wherever_it_stopped(ends):
    left = set()
    for step in count(1):
        done = ends.up(ends.name, "far", program=["-c", KILLED, str(step)])
        left |= ends.left()
        tunnel("down", ends.name)
        assert not ends.left(), f"after {step} commands"
        if done.returncode != 9:
            break
    assert done.returncode == 0, done.stderr
    assert step > 15 and any(each.startswith(f"{ends.name}-h") for each in left)


def test_a_namespace_of_somebody_else_is_neither_used_nor_taken_away(ends):
    host = next(each.node for each in scenarios.hosts(scenarios.load(SCENARIO)) if each.edge == 1)
    namespace = f"{ends.name}-{host}"
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    refused = ends.up(ends.name, "far")
    assert refused.returncode == 2 and f"namespace {namespace} already exists" in refused.stderr
    assert f"tunnel {ends.name}: not found" in ends.down().stderr
    assert ends.left() == {namespace}
    subprocess.run(["ip", "netns", "delete", namespace], check=True)
    # Not even one that is empty and has the name of a tunnel's.
    namespace = f"{ends.name}-wg"
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    refused = ends.down()
    assert refused.returncode == 2 and f"namespace {namespace}: not made by" in refused.stderr, refused.stderr
    assert ends.left() == {namespace}
    subprocess.run(["ip", "netns", "delete", namespace], check=True)
