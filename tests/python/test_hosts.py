# SPDX-License-Identifier: Apache-2.0
"""The host agent, with real Mininet hosts in a network namespace; a Linux bridge stands in for the fabric."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from slotwise import Star
from slotwise.live import agent as host_agent
from slotwise.live.flowrun import FlowRun, write_pseudo_random
from slotwise.live.process import ProcessError, all_output, let_go, waiting
from slotwise.resolved import Resolved
from slotwise.scenario import as_json, load
from slotwise.tools import command, home

FILE_BYTES = 300_000


def resolved(scenario: dict) -> str:
    """First message of `slotwise emulate` to the agent."""
    ended = command.check("/dev/stdin", "--resolved", text=as_json(scenario))
    assert ended.status == 0, ended.reason
    return ended.output.strip()


class RunningAgent:
    """An agent in a namespace of its own, spoken to in JSON lines."""

    def __init__(self, scenario: dict, directory: Path):
        self.process = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-m", "slotwise.live.agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(directory)},
        )
        self.tell(resolved(scenario))

    def tell(self, command) -> None:
        self.process.stdin.write((command if isinstance(command, str) else json.dumps(command)) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def hear_until(self, event: str) -> list[dict]:
        events = [self.hear()]
        while events[-1]["event"] != event:
            events.append(self.hear())
        return events

    def in_namespace(self, *command: str) -> str:
        enter = ["nsenter", "--net", "--target", str(self.process.pid)]
        return subprocess.run([*enter, *command], check=True, capture_output=True, text=True).stdout

    def bridge(self, ports: list[dict]) -> None:
        self.in_namespace("ip", "link", "add", "br0", "up", "type", "bridge")
        for port in ports:
            self.in_namespace("ip", "link", "set", port["interface"], "master", "br0")


def lasting(seconds: float) -> dict:
    star = Star(2, 1)
    star.phase("all", seconds).tcp("all", "all", rate_bps=2_000_000).udp("h0_0", "h1_0", 1_000_000, payload_bytes=500)
    star.file("h1_0", "h0_0", FILE_BYTES)
    return star.phase("silence", seconds=0.01).scenario


@pytest.fixture
def scenario() -> dict:
    return lasting(0.3)


@pytest.fixture
def mix() -> dict:
    """In two short phases without traffic; what hosts of Linux play starts after the first one."""
    found = load(home.root() / "topologies" / "mixed.yaml")
    found["phases"] = [{"name": name, "duration_ms": 300, "flows": []} for name in ("one", "other")]
    found["flows"][2]["start_ms"] = 400
    found["packet_bytes"] = 1000
    return found


@pytest.fixture
def agent(namespaces, scenario, tmp_path):
    with running_agent(scenario, tmp_path) as running:
        yield running


@pytest.fixture
def long_agent(namespaces, tmp_path):
    with running_agent(lasting(60), tmp_path) as running:
        yield running


@pytest.fixture
def mixed_agent(namespaces, mix, tmp_path):
    with running_agent(mix, tmp_path) as running:
        yield running


@contextmanager
def running_agent(scenario: dict, directory: Path):
    running = RunningAgent(scenario, directory)
    try:
        yield running
    finally:
        with running.process as process:
            process.kill()


def test_phases_run_on_command(agent, tmp_path):
    ready = agent.hear()
    assert ready["event"] == "ready"
    assert ready["pid"] == agent.process.pid
    assert ready["ports"] == [
        {"edge": 0, "port": 1, "interface": "e0-eth1"},
        {"edge": 1, "port": 1, "interface": "e1-eth1"},
    ]
    agent.bridge(ready["ports"])
    agent.tell({"command": "phase", "index": 0, "patience_ms": 30_000})
    events = agent.hear_until("phase_done")
    assert events[0] == {"event": "phase_started", "phase": 0}
    flows = {(event["kind"], event["from"], event["to"]): event for event in events if event["event"] == "flow"}
    assert sorted(flows) == [("tcp", "h0_0", "h1_0"), ("tcp", "h1_0", "h0_0"), ("udp", "h0_0", "h1_0")]
    for flow in flows.values():
        assert flow["bytes"] > 0
        assert flow["goodput_bps"] > 0
    assert flows["tcp", "h0_0", "h1_0"]["stream"]["retransmissions"] >= 0
    assert flows["udp", "h0_0", "h1_0"]["lost_packets"] >= 0
    (file,) = [event for event in events if event["event"] == "file"]
    assert (file["bytes"], file["intact"], len(file["sha256_sent"])) == (FILE_BYTES, True, 64)
    agent.tell({"command": "phase", "index": 1, "patience_ms": 30_000})
    assert [event["event"] for event in agent.hear_until("phase_done")] == ["phase_started", "phase_done"]
    agent.tell({"command": "quit"})
    assert agent.process.wait() == 0
    assert not list(tmp_path.glob("slotwise-*"))


def test_a_mix_has_the_ports_that_the_engine_has(namespaces, tmp_path, hosts_told):
    examples = home.root() / "schema" / "examples"
    running = RunningAgent(yaml.safe_load((examples / "valid" / "mixed.yaml").read_text()), tmp_path)
    with running.process as process:
        ports = running.hear()["ports"]
        process.kill()
    told = hosts_told(json.loads((examples / "networks" / "mixed.json").read_text()))
    kinds = {"e": "edge", "r": "router"}
    places = sorted((host.switch, host.port) for host in told.values())
    assert ports == [
        {kinds[switch[0]]: int(switch[1:]), "port": port, "interface": f"{switch}-eth{port}"} for switch, port in places
    ]


def test_hosts_have_the_scenarios_addresses_and_plain_packets(agent):
    agent.hear()
    (interface,) = json.loads(agent.in_namespace("ip", "-json", "link", "show", "dev", "e1-eth1"))
    assert (interface["mtu"], interface["operstate"]) == (1450, "UP")
    assert "e1-eth1" not in agent.in_namespace("ip", "-brief", "-4", "address", "show")
    features = agent.in_namespace("ethtool", "--show-features", "e1-eth1")
    for feature in (
        "tx-checksumming",
        "tcp-segmentation-offload",
        "generic-segmentation-offload",
        "generic-receive-offload",
    ):
        assert f"{feature}: off" in features


def test_flows_over_the_run_start_in_their_time_and_are_waited_for_after_the_last_phase(mixed_agent):
    mixed_agent.bridge(mixed_agent.hear()["ports"])
    mixed_agent.tell(
        {
            "command": "phase",
            "index": 0,
            "patience_ms": 30_000,
        }
    )
    assert [event["event"] for event in mixed_agent.hear_until("phase_done")] == ["phase_started", "phase_done"], (
        "it lasts no longer"
    )
    mixed_agent.tell(
        {
            "command": "phase",
            "index": 1,
            "patience_ms": 30_000,
        }
    )
    events = mixed_agent.hear_until("phase_done")
    assert events[0] == {"event": "phase_started", "phase": 1}
    flows = sorted(events[1:-1], key=lambda flow: flow["from"])
    assert [(flow["name"], flow["entry"], flow["phase"]) for flow in flows] == [("down.0", 2, 1), ("down.1", 2, 1)]
    assert all(flow["bytes"] > 0 for flow in flows)
    mixed_agent.tell({"command": "quit"})
    assert mixed_agent.process.wait() == 0


def test_hosts_of_routers_have_packets_of_the_routers(mixed_agent):
    ports = mixed_agent.hear()["ports"]
    links = json.loads(mixed_agent.in_namespace("ip", "-json", "link", "show"))
    mtus = {link["ifname"]: link["mtu"] for link in links}
    assert {(next(iter(port)), mtus[port["interface"]]) for port in ports} == {("edge", 1450), ("router", 1000)}


def test_the_end_of_the_input_ends_flows_over_the_run(namespaces, mix, tmp_path):
    mix["phases"][1]["duration_ms"] = 60_000
    with running_agent(mix, tmp_path) as running:
        running.bridge(running.hear()["ports"])
        running.tell({"command": "phase", "index": 0, "patience_ms": 30_000})
        running.hear_until("phase_done")
        running.process.stdin.close()
        assert running.process.wait() == 0


def test_a_flow_that_fails_is_told_and_the_agent_lives(agent):
    agent.hear()  # without a bridge no host reaches another
    agent.tell({"command": "phase", "index": 0, "patience_ms": 30_000})
    assert agent.hear()["event"] == "phase_started"
    agent.tell({"command": "phase", "index": 1, "patience_ms": 30_000})
    assert "still running" in agent.hear()["message"]
    events = agent.hear_until("phase_done")
    errors = [event for event in events if event["event"] == "error"]
    assert len(errors) == 4
    assert all(error["phase"] == 0 for error in errors)
    agent.tell("nonsense")
    assert "not JSON" in agent.hear()["message"]
    agent.process.stdin.close()
    assert agent.process.wait() == 0


def test_the_end_of_the_input_ends_a_phase(long_agent):
    long_agent.bridge(long_agent.hear()["ports"])
    long_agent.tell({"command": "phase", "index": 0, "patience_ms": 30_000})
    assert long_agent.hear()["event"] == "phase_started"
    long_agent.process.stdin.close()
    assert long_agent.process.wait() == 0


def test_a_phase_is_given_up_after_its_patience(long_agent):
    long_agent.bridge(long_agent.hear()["ports"])
    long_agent.tell({"command": "phase", "index": 0, "patience_ms": 1})
    (error,) = [event for event in long_agent.hear_until("phase_done") if event["event"] == "error"]
    assert error["message"].startswith("timed out after 0.001 s")


def test_a_phase_that_is_given_up_names_the_flows_that_it_waits_for(scenario):
    flows = Resolved.parse(resolved(scenario)).flows
    runs = [FlowRun(flow, 0, None, None, "10.0.0.1") for flow in flows]
    assert (
        host_agent.still_there(runs) == "; unfinished: tcp h0_0 -> h1_0, tcp h1_0 -> h0_0, udp h0_0 -> h1_0 and 1 more"
    )
    for run in runs[:3]:
        run.has_ended = True
    assert host_agent.still_there(runs) == "; unfinished: file h1_0 -> h0_0"
    runs[3].has_ended = True
    assert host_agent.still_there(runs) == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "not JSON"),
        ("[" * 10_000, "not JSON"),
        ("[]", "expected"),
        ('{"command": "stop"}', "expected"),
        ('{"command": "phase", "index": 2, "patience_ms": 5}', "index: expected an integer from 0 to 1"),
        ('{"command": "phase", "index": -1, "patience_ms": 5}', "index"),
        ('{"command": "phase", "index": true, "patience_ms": 5}', "index"),
        ('{"command": "phase", "index": 0}', "patience_ms"),
        ('{"command": "phase", "index": 0, "patience_ms": 1e3}', "patience_ms"),
        ('{"command": "phase", "index": 0, "patience_ms": 0}', "patience_ms: expected an integer from 1"),
    ],
)
def test_bad_commands_are_refused_with_a_reason(line, said):
    with pytest.raises(host_agent.CommandError, match=said):
        host_agent.parse_command(line.encode(), phases=2)


@pytest.mark.parametrize("line", ["", "version: 1\n", "{}\n", '{"name": 5}\n'])
def test_a_first_line_that_is_no_resolved_scenario_ends_the_agent_with_an_error_event(line):
    agent = [sys.executable, "-m", "slotwise.live.agent"]
    done = subprocess.run(agent, input=line, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["event"] == "error"


def test_what_follows_the_first_line_at_once_is_a_command(scenario, monkeypatch, tmp_path):
    ours, theirs = os.pipe()
    os.write(theirs, b"{}\nquit\nmore")
    os.close(theirs)
    with open(ours, encoding="utf-8") as given:
        monkeypatch.setattr("sys.stdin", given)
        assert host_agent.first_line() == (b"{}", b"quit\nmore")


def test_what_waits_is_loaded_when_it_is_let_go(namespaces, tmp_path):
    file = tmp_path / "made-meanwhile"

    async def run(*command: str) -> str:
        host = SimpleNamespace(name="h0_0", pid=os.getpid())
        async with waiting(host, *command) as process:
            file.write_text("made")
            let_go(process)
            return await all_output(process, host, command[0])

    assert asyncio.run(run("cat", str(file))) == "made"
    with pytest.raises(ProcessError, match="h0_0: no-such-program ended with status 127"):
        asyncio.run(run("no-such-program"))


def test_files_depend_on_the_seed_only(tmp_path):
    one, other, third = (tmp_path / name for name in ("one", "other", "third"))
    write_pseudo_random(one, 3_000_000, "1/0-0")
    write_pseudo_random(other, 3_000_000, "1/0-0")
    write_pseudo_random(third, 3_000_000, "2/0-0")
    assert one.stat().st_size == 3_000_000
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes() != third.read_bytes()


def test_a_file_that_the_disk_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ProcessError, match="bytes free"):
        write_pseudo_random(tmp_path / "huge", 1 << 60, "1")
    assert not (tmp_path / "huge").exists()


def test_a_signal_while_it_ends_does_not_keep_the_agent_from_it(scenario, tmp_path, monkeypatch):
    ended = []

    async def end() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        # The loop hears of it in one of its next rounds.
        for _ in range(100):
            await asyncio.sleep(0)
        ended.append(True)

    async def serve() -> None:
        agent = host_agent.Agent(Resolved.parse(resolved(scenario)), SimpleNamespace(hosts=[]), tmp_path)
        agent.kept.push_async_callback(end)
        await agent.serve()

    monkeypatch.setattr(host_agent.network, "access_ports", lambda net: [])
    ours, theirs = os.pipe()
    os.close(theirs)
    with open(ours, encoding="utf-8") as no_input:
        monkeypatch.setattr("sys.stdin", no_input)
        asyncio.run(serve())
    assert ended == [True]


def test_a_host_that_vanishes_is_told_and_ends_its_agent(long_agent):
    long_agent.bridge(long_agent.hear()["ports"])
    long_agent.tell({"command": "phase", "index": 0, "patience_ms": 30_000})
    assert long_agent.hear()["event"] == "phase_started"
    shells = subprocess.run(
        ["pgrep", "--full", "--parent", str(long_agent.process.pid), "mininet:h0_0"], check=True, capture_output=True
    )
    os.kill(int(shells.stdout), signal.SIGKILL)
    assert long_agent.hear_until("vanished")[-1] == {"event": "vanished", "host": "h0_0"}
    assert long_agent.process.wait() == 1
