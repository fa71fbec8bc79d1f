# SPDX-License-Identifier: Apache-2.0
"""Mininet's own command in front of the real fabric: a scenario file, a fibre cut by name, report and captures."""

import hashlib
import json
import os
import re
import subprocess

import pytest

from slotwise.tools import home

pytestmark = pytest.mark.nightly

TIMEOUT_S = 180
TYPED = """h0_0 ping -c 1 -W 5 h2_0
fibre edge2-core0 down
h0_0 ping -c 1 -W 1 h2_0
fibre edge2-core0 up
h0_0 ping -c 5 -W 5 h2_0
fibre edge7-core0 down
exit
"""


# Hosts are the clients, then the servers. The first link that is cut is gone round, the second one is the last way.
TYPED_TO_ROUTERS = """fibre
h0 ping -c 1 -w 30 h2
fibre north-east down
h0 ping -c 1 -w 30 h2
fibre east-south down
h1 ping -c 1 -W 1 h3
fibre north-east up
h1 ping -c 1 -w 30 h3
fibre north-south down
exit
"""

# Hosts of routers are numbered by group: h0 is of lab, h2 of desk, h3 of far. The server may not listen yet when a client calls first.
TYPED_TO_A_MIX = """h0_0 ping -c 1 -w 30 h0
h0 ping -c 1 -w 30 h3
h3_0 ping -c 1 -w 30 h3
h0_0 iperf3 --server --one-off --daemon
h0 until iperf3 --client h0_0 --time 1 --connect-timeout 5000; do sleep 0.2; done
fibre lab-west down
h0 ping -c 1 -W 1 h3
h2 ping -c 1 -w 30 h3
fibre west-lab up
h0 ping -c 1 -w 30 h3
fibre edge3-core0 down
h0 ping -c 1 -W 1 h3
h0 ping -c 1 -w 30 h2
fibre edge3-core0 up
h0 ping -c 1 -w 60 h3
fibre star-east down
h0 ping -c 1 -W 1 h3
fibre east-star up
h0 ping -c 1 -w 30 h3
fibre lab-east down
exit
"""


# A span's cut is gone round over the other ringlet; with two cut the ring is in two parts.
TYPED_TO_A_RING = """fibre
h0 ping -c 1 -w 30 h1
fibre station0-station1 down
h0 ping -c 1 -w 30 h1
fibre station3-station0 down
h0 ping -c 1 -W 1 h1
h2 ping -c 1 -w 30 h3
fibre station0-station1 up
h0 ping -c 1 -w 30 h3
fibre station0-station2 down
exit
"""

# The fibre between the two is gone round, the only one of an edge is not.
TYPED_TO_A_MESH = """fibre
h0 ping -c 1 -w 30 h2
fibre s0-s2 down
h0 ping -c 1 -w 30 h2
fibre e2-s2 down
h0 ping -c 1 -W 1 h2
h0 ping -c 1 -w 30 h1
fibre e2-s2 up
h0 ping -c 1 -w 30 h2
fibre s0-e2 down
exit
"""


def mn(place, topology: str, typed: str) -> str:
    """Runs `mn` in namespaces of its own, `place` as its /tmp; what it said if it ended well."""
    if home.root().is_relative_to("/tmp"):
        pytest.skip("the clone is below /tmp, which this test hides: when mn fails it clears /tmp")
    inside = f'mount --make-rprivate / && mount --bind {place} /tmp && ip link set lo up && exec mn "$@"'
    result = subprocess.run(
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
            "topologies/mn.py",
            "--controller",
            "none",
            "--topo",
            topology,
        ],
        cwd=home.root(),
        env=os.environ | {"TMPDIR": "/tmp"},
        input=typed,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def ran(place, topology: str, typed: str, received: str) -> tuple[str, dict]:
    """What a run said in which each ping received so many answers, and its report, in which all was well."""
    said = mn(place, topology, typed)
    assert re.findall(r" (\d) received", said) == list(received), said
    report = json.loads((place / "r.json").read_text())
    assert report["verdict"]["ok"], report["verdict"]
    assert not report["invariants"].pop("first") and not any(report["invariants"].values())
    return said, report


def captures(place) -> set[str]:
    return {path.name for path in (place / "captures").iterdir()}


def test_a_scenario_file_runs_and_its_fibres_are_cut_by_name(tmp_path):
    options = "report=/tmp/r.json,pcap=/tmp/captures,pcap_filter=edge?-core0+data,snaplen=80"
    said = mn(tmp_path, f"agile,topologies/star3-short.yaml,{options}", TYPED)
    first, cut, mended = (part for part in said.split("ping statistics ---")[1:])
    assert " 1 received" in first, said
    assert " 0 received" in cut, said
    assert " 0 received" not in mended, said
    assert "unknown fibre 'edge7-core0'; expected one of edge0-core0, edge1-core0, edge2-core0" in said
    assert "verdict       ok" in said
    verdict = json.loads((tmp_path / "r.json").read_text())["verdict"]
    assert verdict["ok"]
    assert not [note for note in verdict["notes"] if "has gone" in note]
    assert (
        {"edge0-core0.pcap", "edge2-core0.pcap"}
        <= captures(tmp_path)
        <= {f"edge{edge}-core0.pcap" for edge in range(3)}
    )


def test_routers_run_and_go_round_links_that_are_cut(tmp_path):
    said, report = ran(tmp_path, "agile,topologies/routers4.yaml,report=/tmp/r.json", TYPED_TO_ROUTERS, "1101")
    assert "west-north north-west north-east east-north west-south south-west south-east east-south\n" in said
    assert "unknown fibre 'north-south'; expected one of west-north, north-west, north-east" in said
    assert report["invariants"].keys() == {"astray"} and report["controller"]["reroutes"] > 0


def test_a_mix_runs_and_is_cut_in_both_of_its_parts(tmp_path):
    options = "report=/tmp/r.json,pcap=/tmp/captures,pcap_filter=edge2-core0+router?-port1+data,snaplen=80"
    said, report = ran(tmp_path, f"agile,topologies/mixed.yaml,{options}", TYPED_TO_A_MIX, "11101101101")
    assert re.search(r"Mbits/sec +receiver", said), said
    assert (
        "unknown fibre 'lab-east'; expected one of edge0-core0, edge1-core0, edge2-core0, edge3-core0, lab-west, west-lab"
        in said
    )
    assert report["invariants"].keys() == {"collision", "guard", "ungranted", "duplicate", "astray"}
    assert captures(tmp_path) == {"edge2-core0.pcap", *(f"router{router}-port1.pcap" for router in range(3))}


def test_a_ring_runs_and_goes_round_a_cut(tmp_path):
    options = "rate_bps=20000000,report=/tmp/r.json,pcap=/tmp/captures,pcap_filter=station0-port256,snaplen=80"
    said, _ = ran(tmp_path, f"packetring,4,1,{options}", TYPED_TO_A_RING, "11011")
    assert "station0-station1 station1-station2 station2-station3 station3-station0\n" in said
    assert "unknown fibre 'station0-station2'; expected one of station0-station1, station1-station2" in said
    assert captures(tmp_path) == {"station0-port256.pcap"}


def test_a_mesh_of_optical_packet_switches_runs_and_goes_round_a_cut(tmp_path):
    said, report = ran(tmp_path, "opsmesh,4,1,rate_bps=20000000,report=/tmp/r.json", TYPED_TO_A_MESH, "11011")
    assert "s0-s1 s1-s2 s2-s3 s3-s0 s0-s2 s1-s3 e0-s0 e1-s1 e2-s2 e3-s3\n" in said
    assert "unknown fibre 's0-e2'; expected one of s0-s1, s1-s2" in said
    assert report["controller"]["reroutes"] > 0


# The host asks until the daemon listens. Fibres carry 1450 bytes at most.
TYPED_FOR_A_FILE = """{a} mkdir /tmp/served && head -c 4000000 /dev/urandom > /tmp/served/file && {command} gtp key /tmp/key
{a} {command} gtp serve /tmp/served --key /tmp/key {options} --quiet > /tmp/served.log 2>&1 &
{b} {command} gtp receive {a} file --out /tmp/stored --key /tmp/key {options} --quiet > /tmp/received.json
{a} kill -TERM $!
{a} wait
exit
"""


@pytest.mark.parametrize(
    ("topology", "a", "b"),
    [
        ("agile,topologies/star3-short.yaml", "h0_0", "h2_0"),
        ("packetring,4,1,rate_bps=50000000", "h0", "h2"),
        ("lambda,3,1,delay_ns=5000000", "h0", "h2"),
    ],
    ids=["star", "ring", "lambda"],
)
def test_a_file_goes_over_gtp_between_hosts(tmp_path, topology, a, b):
    options = "--packet-bytes 1400 --rate-bps 20000000"
    typed = TYPED_FOR_A_FILE.format(a=a, b=b, command=home.slotwise_command(), options=options)
    said, _ = ran(tmp_path, f"{topology},report=/tmp/r.json", typed, "")
    received = json.loads((tmp_path / "received.json").read_text() or "{}")
    assert received.get("ok"), said + (tmp_path / "served.log").read_text()
    digests = [hashlib.sha256((tmp_path / place).read_bytes()).hexdigest() for place in ("served/file", "stored")]
    assert digests == [received["sha256"]] * 2 and received["bytes"] == 4_000_000
    (line,) = (tmp_path / "served.log").read_text().splitlines()[-1:]
    assert json.loads(line)["sha256"] == received["sha256"]
    print(f"{topology}: {received['goodput_bps'] / 1e6:.1f} Mb/s of the file")
