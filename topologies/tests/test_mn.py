# SPDX-License-Identifier: Apache-2.0
"""Mininet's own command with the agile star. The `slotwise` command is a stand-in that bridges the access ports."""
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from slotwise import home

MN_FILE = home.root() / "topologies" / "slotwise" / "mn.py"
BRIDGE = """#!/bin/sh
cp "$2" /tmp/scenario.yaml
cp "$4" /tmp/ports.json
echo "$1 $3" > /tmp/arguments
ip link add br0 up type bridge
for interface in $(grep -o 'e[0-9]*-eth[0-9]*' "$4"); do ip link set $interface master br0; done
trap 'touch /tmp/stopped; exit 0' INT
echo 'starting ...'
echo '{"event": "ready"}'
while :; do sleep 1 & wait; done
"""
FAILING = """#!/bin/sh
echo 'port 9559 is taken' >&2
exit 3
"""


def mn(place: Path, stand_in: str, *arguments: str) -> subprocess.CompletedProcess:
    """Runs `mn` in namespaces of its own, `place` as its /tmp: when it fails it kills processes by name and clears /tmp."""
    command = place / "slotwise"
    command.write_text(stand_in)
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    inside = f'mount --make-rprivate / && mount --bind {place} /tmp && cd /tmp && exec mn "$@" < /dev/null'
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", inside, "mn",
         "--custom", str(MN_FILE), "--controller", "none", *arguments],
        env=environment | {"SLOTWISE_COMMAND": "/tmp/slotwise", "TMPDIR": "/tmp"},
        capture_output=True, text=True, check=False,
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
    assert (tmp_path / "stopped").exists()
    assert not list(tmp_path.glob("slotwise-*"))


def test_a_fabric_that_does_not_start_says_why(tmp_path):
    result = mn(tmp_path, FAILING, "--topo", "agilestar,2,1", "--test", "none")
    assert "ended with status 3: port 9559 is taken" in result.stdout + result.stderr
    assert not list(tmp_path.glob("slotwise-*"))
