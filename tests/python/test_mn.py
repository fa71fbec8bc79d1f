# SPDX-License-Identifier: Apache-2.0
"""Mininet's own command with the agile star. The `slotwise` command is a stand-in that bridges the access ports."""

import json
import os
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from slotwise import OpsMesh, builders
from slotwise.tools import home

pytestmark = pytest.mark.slow

PATIENCE_S = 60
MN_FILE = home.root() / "topologies" / "mn.py"
BRIDGE = """#!/bin/sh
[ "$1" = check ] && exit
cp "$2" /tmp/scenario.yaml
cp "$4" /tmp/ports.json
echo "$1 $3" > /tmp/arguments
ip link add br0 up type bridge
for interface in $(grep -o '[er][0-9]*-eth[0-9]*' "$4"); do ip link set $interface master br0; done
trap 'ip -brief link show > /tmp/stopped; exit 0' INT
echo 'starting ...'
echo '{"event": "ready"}'
while :; do sleep 1 & wait; done
"""
# Answers a fibre's command, and dies when it hears of the second one.
DYING = """#!/bin/sh
[ "$1" = check ] && exit
echo "$@" > /tmp/arguments
echo '{"event": "ready"}'
read command; echo "$command" >> /tmp/commands; echo '{"event": "error", "message": "there is no fibre here"}'
read command; echo "$command" >> /tmp/commands
echo 'slotwise: the glass is broken' >&2
exit 7
"""
QUIET = """#!/bin/bash
[ "$1" = emulate ] || exit 0
echo "$@" > /tmp/arguments
echo '{"event": "ready"}'
read < /tmp/never
"""
# Dies before a host can be heard.
SUDDEN = """#!/bin/sh
[ "$1" = check ] && exit
echo '{"event": "ready"}'
echo 'slotwise: the glass is broken' >&2
exit 7
"""
FAILING = """#!/bin/sh
[ "$1" = check ] && exit
echo 'port 9559 is taken' >&2
exit 3
"""
# Finds what the schema cannot.
REFUSING = """#!/bin/sh
[ "$1" = check ] || exit
echo "slotwise: $2:" >&2
echo '/ops: too dark' >&2
exit 1
"""


def mn(place: Path, stand_in: str, *arguments: str, typed: str = "") -> subprocess.CompletedProcess:
    """Runs `mn` in namespaces of its own, `place` as its /tmp: when it fails it kills processes by name and clears /tmp. Which processes are
    there afterwards is in the file `left`; `sleep 1000` is no host's."""
    command = place / "slotwise"
    command.write_text(stand_in)
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    inside = (
        f"mount --make-rprivate / && mount --bind {place} /tmp && cd /tmp || exit; sleep 1000 & "
        'mn "$@"; status=$?; ps -eo args > left; exit $status'
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [
            "unshare",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount",
            "--mount-proc",
            "sh",
            "-c",
            inside,
            "mn",
            "--custom",
            str(MN_FILE),
            "--controller",
            "none",
            *arguments,
        ],
        env=environment | {"SLOTWISE_COMMAND": "/tmp/slotwise", "TMPDIR": "/tmp"},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(autouse=True)
def isolation(namespaces):
    """All tests here make interfaces and have a /tmp of their own."""
    if home.root().is_relative_to("/tmp"):
        pytest.skip("the clone is below /tmp, which these tests hide")


def test_one_fabric_serves_all_edges_and_ends_with_the_net(tmp_path):
    result = mn(tmp_path, BRIDGE, "--topo", "agilestar,3,2,rate_bps=100000000", "--test", "pingall")
    assert "0% dropped (30/30 received)" in result.stdout + result.stderr
    assert (tmp_path / "arguments").read_text() == "emulate --attach\n"
    ports = json.loads((tmp_path / "ports.json").read_text())
    assert ports[0] == {"edge": 0, "port": 1, "interface": "e0-eth1"}
    assert [(port["edge"], port["port"]) for port in ports] == [(edge, port) for edge in range(3) for port in (1, 2)]
    scenario = yaml.safe_load((tmp_path / "scenario.yaml").read_text())
    assert scenario["edges"][2]["fibres"][0]["rate_bps"] == 100_000_000
    assert "e2-eth2@" in (tmp_path / "stopped").read_text(), "interfaces went before the fabric was told to end"
    assert not list(tmp_path.glob("slotwise-*"))


def test_daemons_of_hosts_end_with_the_net(tmp_path):
    typed = "h0_0 setsid --fork sleep 2000 && echo begun\nh1_0 setsid --fork sh -c 'trap \"\" TERM; exec sleep 3000' && echo begun\nexit\n"
    result = mn(tmp_path, BRIDGE, "--topo", "agilestar,2,1", typed=typed)
    assert (result.stdout + result.stderr).count("begun\n") == 2, result.stdout + result.stderr
    sleeping = [line for line in (tmp_path / "left").read_text().splitlines() if line.startswith("sleep ")]
    assert sleeping == ["sleep 1000"]


def test_a_fabric_that_does_not_start_says_why(tmp_path):
    harmless(
        tmp_path,
        "agilestar,2,1",
        "the emulator did not start: slotwise emulate ended with status 3: port 9559 is taken",
        built=True,
    )


def harmless(tmp_path: Path, topology: str, said: str, *, built: bool | None = None, stand_in: str = FAILING) -> None:
    """`mn` refuses a topology with a message and status 1, and does not clear the machine as it does after exceptions; after it has `built` hosts or
    before, if that is asked."""
    others = tmp_path / "others.log"
    others.touch()
    result = mn(tmp_path, stand_in, "--topo", topology, "--test", "none")
    assert said in result.stderr
    assert result.returncode == 1
    assert others.exists()
    assert built is None or built == ("*** Adding hosts" in result.stdout + result.stderr)
    assert "Traceback" not in result.stderr and "Removing excess" not in result.stdout + result.stderr
    assert not list(tmp_path.glob("slotwise-*"))


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ("agilestar,4,2,rate=5", "agilestar: a star has no argument 'rate'; did you mean '"),
        ("agilestar,four", "agilestar: edges: expected a number of edges, got 'four'"),
        ("agilestar,4,two", "agilestar: hosts_per_edge: expected one number, or one for each of 4 edges, got 'two'"),
        ("agilestar,4,2,7", "expected agilestar,EDGES,HOSTS,NAME=VALUE,..."),
        ("agilestar,4,2,rate_bps=fast", "/edges/0/fibres/0/rate_bps: 'fast' is not of type 'integer'"),
        ("agilestar,1000000000000", "agilestar: edges: expected at most 1024, got 1000000000000"),
        ("packetring,1000000000000", "packetring: stations: expected at most 1024, got 1000000000000"),
        ("opsmesh,1000000000000", "opsmesh: switches: expected at most 1024, got 1000000000000"),
        (
            "opsmesh,5,1,edges_per_switch=1000000000000",
            "opsmesh: edges_per_switch, summed over all switches: expected at most 1024, got 5000000000000",
        ),
        ("opsmesh,5,1,seconds=inf", "opsmesh: expected a time in s, got inf"),
        ("opsmesh,1", "opsmesh: switches: expected at least two edges, got 1"),
        ("opsmesh,0", "opsmesh: switches: expected at least two edges, got 0"),
        ("lambda,1000000000000", "lambda: sites: expected at most 256, got 1000000000000"),
        ("agile", "expected agile,FILE,NAME=VALUE,..."),
        ("agile,/tmp/none.yaml", "agile: /tmp/none.yaml: No such file or directory"),
        ("agile,/tmp/bad.yaml", "agile: /tmp/bad.yaml: /: 'name' is a required property"),
        ("agile,/tmp/bad.yaml,edges=3", "agile has no option 'edges'; expected one of report"),
    ],
)
def test_a_topology_that_cannot_be_harms_nobody(tmp_path, topology, said):
    (tmp_path / "bad.yaml").write_text("version: 1")
    harmless(tmp_path, topology, said)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("rest_port=99999", "rest_port: expected an integer from 0 to 65535, got 99999"),
        ("p4runtime_port=any", "p4runtime_port: expected an integer from 0 to 65535, got 'any'"),
        ("seed=1.5", "seed: expected an integer from 0 to 9007199254740991, got 1.5"),
        ("snaplen=0", "snaplen: expected an integer from 1 to 65535, got 0"),
        ("snaplen=96", "snaplen: no directory for captures; expected pcap=DIR"),
        ("pcap_filter=data", "pcap_filter: no directory for captures; expected pcap=DIR"),
        ("target=bmv3", "target: expected engine or bmv2, got 'bmv3'"),
        ("report=/nodir/x.json", "report: /nodir is not a directory; expected a file in a directory"),
        ("report=/tmp", "report: /tmp is a directory; expected a file"),
        ("pcap=/tmp/file/captures", "pcap: /tmp/file is a file; expected a directory"),
    ],
)
@pytest.mark.parametrize("topology", ["opsmesh,3", "agile,/tmp/mesh.yaml"])
def test_an_option_that_cannot_be_is_refused_before_a_host_is_built(tmp_path, topology, option, said):
    (tmp_path / "file").touch()
    OpsMesh(3).tcp("hosts0", "hosts1").save(tmp_path / "mesh.yaml")
    harmless(tmp_path, f"{topology},{option}", f"{topology.split(',')[0]}: {said}", built=False)


def test_what_the_command_refuses_is_refused_before_a_host_is_built(tmp_path):
    harmless(tmp_path, "opsmesh,3", "opsmesh: opsmesh's scenario: /ops: too dark", built=False, stand_in=REFUSING)


def test_a_fabric_that_dies_while_mininet_tests_harms_nobody(tmp_path):
    (tmp_path / "others.log").touch()
    result = mn(tmp_path, SUDDEN, "--topo", "agilestar,2,1", "--test", "pingall")
    assert "*** the emulator ended with status 7: slotwise: the glass is broken" in result.stderr
    assert result.returncode == 1
    assert (tmp_path / "others.log").exists()


def test_a_scenario_file_is_a_topology_with_the_runs_options(tmp_path):
    file = tmp_path / "mine.yaml"
    scenario = builders.star(2, [1, 2], name="mine")
    tcp = {"from": "all", "to": "all"}
    scenario["phases"] = [
        {"name": "uniform", "duration_ms": 1000, "flows": [tcp]},
        {"name": "late", "duration_ms": 2000, "flows": []},
    ]
    file.write_text(yaml.safe_dump(scenario))
    options = "report=/tmp/r.json,pcap=/tmp/captures,pcap_filter=data+edge0-*,snaplen=96"
    result = mn(
        tmp_path, BRIDGE.replace("$1 $3", "$@"), "--topo", f"agile,/tmp/mine.yaml,{options}", "--test", "pingall"
    )
    assert "0% dropped (6/6 received)" in result.stdout + result.stderr
    told = yaml.safe_load((tmp_path / "scenario.yaml").read_text())
    # Its phases are not run, so the summary names none of them.
    assert (told["name"], told["phases"]) == ("mine", [{"name": "attached", "duration_ms": 3000, "flows": []}])
    words = (tmp_path / "arguments").read_text().split()
    assert words[4:] == [
        "--until-input-ends",
        "--report",
        "/tmp/r.json",
        "--pcap",
        "/tmp/captures",
        "--pcap-filter",
        "data,edge0-*",
        "--snaplen",
        "96",
    ]


def test_a_mix_is_a_topology_with_hosts_of_both_kinds(tmp_path, hosts_told):
    examples = home.root() / "schema" / "examples"
    document = yaml.safe_load((examples / "valid" / "mixed.yaml").read_text())
    document["schedulers"] = {"mine": {"command": ["python3", "mine.py"]}}
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.yaml").write_text(yaml.safe_dump(document))
    typed = "fibre\npingall\nh0_1 ip -brief address show\nh1 ip -brief address show\nh1 ip -brief link show\n"
    result = mn(tmp_path, BRIDGE, "--topo", "agile,/tmp/elsewhere/mine.yaml", typed=typed)
    said = result.stdout + result.stderr
    assert "edge0-core0 edge1-core0 inner-border border-inner border-edge edge-border\n" in said
    assert "0% dropped (20/20 received)" in said
    told = hosts_told(json.loads((examples / "networks" / "mixed.json").read_text()))
    assert set(told) == {"h0_0", "h0_1", "h1_0", "s.0", "s.1"}
    assert f"{told['h0_1'].ip}/8" in said
    assert f"{told['s.1'].ip}/8" in said and told["s.1"].mac in said
    ports = json.loads((tmp_path / "ports.json").read_text())
    kinds = {"edge": "e", "router": "r"}
    built = [
        (f"{letter}{port[kind]}", port["port"], port["interface"])
        for port in ports
        for kind, letter in kinds.items()
        if kind in port
    ]
    assert built == sorted((host.switch, host.port, f"{host.switch}-eth{host.port}") for host in told.values())
    schedulers = yaml.safe_load((tmp_path / "scenario.yaml").read_text())["schedulers"]
    assert schedulers["mine"]["directory"] == "/tmp/elsewhere", (
        "its file is where it was, not where Mininet was started"
    )


def test_fibres_are_cut_by_name_and_mininet_ends_with_the_fabric(tmp_path):
    typed = "fibre\nfibre edge1-core0\nfibre edge9-core0 down\nfibre edge1-core0 down\nsh echo never said\n"
    result = mn(tmp_path, DYING, "--topo", "agilestar,2,1", typed=typed)
    said = result.stdout + result.stderr
    assert "edge0-core0 edge1-core0\n" in said
    assert "expected: fibre NAME up, or fibre NAME down" in said
    assert "there is no fibre here" in said
    assert [json.loads(line) for line in (tmp_path / "commands").read_text().splitlines()] == [
        {"command": "fibre", "name": "edge9-core0", "up": False},
        {"command": "fibre", "name": "edge1-core0", "up": False},
    ]
    assert "*** the emulator ended with status 7: slotwise: the glass is broken" in said
    assert "never said" not in said.replace("sh echo never said", "")
    assert result.returncode == 1
    assert not list(tmp_path.glob("slotwise-*"))


# Starts a fabric and is killed.
ABANDONED = """
import os, signal, sys
from slotwise import builders
from slotwise.live.emulator import Fabric
scenario = builders.star(2, 1)
scenario["phases"] = [{"name": "main", "duration_ms": 1000, "flows": []}]
Fabric(scenario, [])
os.kill(os.getpid(), signal.SIGKILL)
"""
# Says at the end of its input, through a pipe, which run it was, and ends, whether anybody reads that or not.
HEEDFUL = """#!/bin/sh
[ "$1" = check ] && exit
exec 3<> ended
echo '{"event": "ready"}'
cat
echo $SLOTWISE_RUN $@ >&3
"""


def test_a_fabric_ends_when_mininet_is_killed(tmp_path):
    pipe, command = tmp_path / "ended", tmp_path / "slotwise"
    os.mkfifo(pipe)
    command.write_text(HEEDFUL)
    command.chmod(0o755)
    # Not waited for, as the stand-in may be there before or after.
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as ended:
        result = subprocess.run(
            [sys.executable, "-c", ABANDONED],
            cwd=tmp_path,
            check=False,
            env=os.environ
            | {
                "SLOTWISE_COMMAND": str(command),
                "TMPDIR": str(tmp_path),
                "PYTHONPATH": str(home.root() / "python"),
            },
        )
        assert result.returncode == -signal.SIGKILL
        assert select.select([ended], [], [], PATIENCE_S)[0], "it does not hear that its input has ended"
        run, *arguments = ended.readline().split()
    assert "--until-input-ends" in arguments
    assert Path(run).name.startswith("slotwise-fabric-")
    assert Path(run, "scenario.yaml").exists()


KILLED = """
mkfifo up never
mn --custom {mn} --controller none --topo agilestar,2,1 < up > said 2>&1 & mn=$!
exec 3> up
echo 'h0_0 sleep 1000 &' >&3
until pgrep --exact sleep > /dev/null && [ -e arguments ]; do :; done
kill -KILL $mn
wait $mn
{clean_net}
pgrep --list-full 'sleep|slotwise' || echo 'nothing is left'
"""


def test_what_a_killed_mn_leaves_is_found(tmp_path):
    (tmp_path / "slotwise").write_text(QUIET)
    (tmp_path / "slotwise").chmod(0o755)
    (tmp_path / "script").write_text(KILLED.format(mn=MN_FILE, clean_net=home.root() / "scripts" / "clean-net"))
    inside = f"mount --make-rprivate / && mount --bind {tmp_path} /tmp && cd /tmp && exec bash script"
    result = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", inside],
        env=os.environ | {"SLOTWISE_COMMAND": "/tmp/slotwise", "TMPDIR": "/tmp"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "nothing is left" in result.stdout, result.stdout + result.stderr
    assert not list(tmp_path.glob("slotwise-*")), result.stdout
