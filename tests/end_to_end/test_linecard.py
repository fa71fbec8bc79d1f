# SPDX-License-Identifier: Apache-2.0
"""`slotwise line-card gates` between a switch that runs edge.p4 and a fibre: on `slotwise switch`, and on stock BMv2 if it is there."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotwise import wire
from test_runs import PATIENCE_S, ROOT, SLOTWISE

# As ptf-tests/run has it for the generated P4Runtime classes.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
sys.path.insert(0, str(ROOT / "ptf-tests"))
from support.p4rt import Switch

pytestmark = pytest.mark.nightly

P4C_OUT = ROOT / "p4src" / "p4c-out"
ADDRESS = "127.0.0.1:9561"
DEVICE_ID = 1
MAC, HOST_MAC = 0x02FF00000000, 0x020000000001
SLOTS, SLOT_NS, GUARD_NS = 4, 200_000_000, 40_000_000
FRAME_NS = SLOTS * SLOT_NS
DATA_SLOT, VOQ = 3, 1
# BMv2 loses what is beyond 32 packets of a burst: its capture buffer holds no more.
RATE_BPS, PACKETS, IP_BYTES = 1_000_000, 30, 1000
# Older than the C library's headers, not in Python's.
SO_TIMESTAMPNS = 35
LINKS = {
    1: ("switch1", "host"),
    wire.PORT_OPTICAL_BASE: ("switch256", "optical"),
    wire.PORT_LINECARD: ("switch500", "control"),
}


def target_command(target: str) -> list[str]:
    interfaces = [word for port, (switch, _) in LINKS.items() for word in ("-i", f"{port}@{switch}")]
    if target == "engine":
        return [
            str(SLOTWISE),
            "switch",
            "--device-id",
            str(DEVICE_ID),
            "--grpc-server-addr",
            ADDRESS,
            "--cpu-port",
            str(wire.PORT_CPU),
            *interfaces,
        ]
    return [
        "simple_switch_grpc",
        "--no-p4",
        "--device-id",
        str(DEVICE_ID),
        *interfaces,
        "--",
        "--grpc-server-addr",
        ADDRESS,
        "--cpu-port",
        str(wire.PORT_CPU),
    ]


@pytest.fixture(name="network")
def fixture_network():
    """Interfaces of the switch, and a fibre whose far end is `far`."""
    pairs = [*LINKS.values(), ("fibre", "far")]
    for left, right in pairs:
        subprocess.run(["ip", "link", "add", left, "type", "veth", "peer", "name", right], check=True)
        for name in (left, right):
            quiet = Path("/proc/sys/net/ipv6/conf", name, "disable_ipv6")
            if quiet.exists():  # or the kernel would speak up
                quiet.write_text("1")
            subprocess.run(["ip", "link", "set", name, "up", "mtu", "2000"], check=True)
    yield
    for left, _ in pairs:
        subprocess.run(["ip", "link", "delete", left], check=True)


@pytest.fixture(
    name="switch",
    params=[
        "engine",
        pytest.param(
            "bmv2",
            marks=pytest.mark.skipif(
                not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on the PATH"
            ),
        ),
    ],
)
def fixture_switch(request, network):
    """edge.p4 as a master that sends VOQ 1 to edge 1. No slot is granted."""
    with subprocess.Popen(
        target_command(request.param), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        switch = connect(process)
        switch.push(P4C_OUT / "edge.json", P4C_OUT / "edge.p4info.txtpb")
        switch.set_default(
            "edge_params",
            "set_edge_params",
            edge_id=0,
            is_master=1,
            master=0,
            mac=MAC,
            guard_ns=GUARD_NS,
            slot_ns=SLOT_NS,
            beacon_hold_frames=1,
        )
        switch.insert("ipv4_route", {"dst": (0x0A000101, 32)}, "to_edge", edge=1)
        switch.insert("voq", {"dst_edge": 1, "class": 0}, "enqueue", queue=VOQ, port=wire.PORT_OPTICAL_BASE)
        yield switch
        switch.close()
        process.terminate()


def connect(process: subprocess.Popen) -> Switch:
    import grpc

    with grpc.insecure_channel(ADDRESS) as channel:
        grpc.channel_ready_future(channel).result(timeout=PATIENCE_S)
    assert process.poll() is None
    return Switch(ADDRESS, DEVICE_ID)


def host_frame(number: int) -> bytes:
    ethernet = wire.Ethernet(dst=MAC, src=HOST_MAC, ether_type=wire.ETHERTYPE_IPV4)
    ipv4 = wire.Ipv4(
        version=4,
        ihl=5,
        total_len=IP_BYTES,
        identification=number,
        ttl=64,
        protocol=253,
        src=0x0A000001,
        dst=0x0A000101,
    )
    return (ethernet.encode() + ipv4.encode()).ljust(wire.Ethernet.SIZE + IP_BYTES, b"\0")


class Far:
    """The far end of the fibre, with the kernel's time of each arrival."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(wire.ETHERTYPE_OPTICAL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind(("far", wire.ETHERTYPE_OPTICAL))

    def receive(self, timeout_s: float):
        """(Unix time in ns, optical header), or nothing."""
        self.socket.settimeout(timeout_s)
        try:
            frame, ancillary, *_ = self.socket.recvmsg(2000, 64)
        except TimeoutError:
            return None
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        return seconds * 10**9 + nanoseconds, wire.Optical.decode(frame[wire.Ethernet.SIZE :])


def test_data_leaves_in_granted_slots_only(switch):
    epoch_ns = time.time_ns()
    command = [
        SLOTWISE,
        "line-card",
        "gates",
        "--control",
        "control",
        "--optical",
        "optical",
        "--fibre",
        "fibre",
        "--edges",
        2,
        "--slots",
        SLOTS,
        "--slot-ns",
        SLOT_NS,
        "--epoch-ns",
        epoch_ns,
        "--rate-bps",
        RATE_BPS,
    ]
    far, host = Far(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    host.bind(("host", 0))
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as card:
        assert json.loads(card.stdout.readline()) == {"event": "ready"}
        for number in range(PACKETS):
            host.send(host_frame(number))
        # Idle slots are counted, so ticks come; without a grant nothing leaves in more than a frame of them.
        before = switch.counter("drops", wire.DropReason.NO_SIGNALING)[0]
        while switch.counter("drops", wire.DropReason.NO_SIGNALING)[0] < before + 2 * SLOTS:
            pass
        assert far.receive(0.001) is None

        switch.insert("slot_schedule", {"core": 0, "bank": 0, "slot": DATA_SLOT}, "grant", queue=VOQ)
        arrivals = [far.receive(PATIENCE_S) for _ in range(PACKETS)]
        assert None not in arrivals
        card.terminate()
        ended = json.loads(card.stdout.readline())
        assert card.wait(PATIENCE_S) == 0
    # An open slot carries 19 packets of 1030 bytes at 1 Mb/s, so the packets take two frames.
    frames = [(at_ns - epoch_ns) // FRAME_NS for at_ns, _ in arrivals]
    assert max(frames.count(frame) for frame in frames) <= 19 and len(set(frames)) >= 2
    for at_ns, optical in arrivals:
        in_frame_ns = (at_ns - epoch_ns) % FRAME_NS
        # Nothing comes early; half a slot is for a machine that was away while a packet was being sent.
        assert in_frame_ns >= DATA_SLOT * SLOT_NS + GUARD_NS or in_frame_ns < SLOT_NS // 2
        assert (optical.queue, optical.src_edge, optical.dst_edge) == (VOQ, 0, 1)
    assert [optical.sequence for _, optical in arrivals] == sorted(optical.sequence for _, optical in arrivals)
    assert ended["light_packets"] == PACKETS and ended["drops"] == {}


def test_light_from_the_fibre_reaches_the_switch_and_its_host(switch):
    switch.insert("ipv4_route", {"dst": (0x0A000001, 32)}, "to_host", port=1, mac=HOST_MAC)
    command = [
        SLOTWISE,
        "line-card",
        "gates",
        "--control",
        "control",
        "--optical",
        "optical",
        "--fibre",
        "fibre",
        "--edges",
        2,
        "--slots",
        SLOTS,
        "--slot-ns",
        SLOT_NS,
        "--epoch-ns",
        time.time_ns(),
    ]
    host = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(wire.ETHERTYPE_IPV4))
    host.bind(("host", wire.ETHERTYPE_IPV4))
    host.settimeout(PATIENCE_S)
    far = Far()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as card:
        assert json.loads(card.stdout.readline()) == {"event": "ready"}
        optical = wire.Optical(
            version=wire.OPTICAL_VERSION,
            kind=wire.OpticalKind.DATA,
            src_edge=1,
            dst_edge=0,
            queue=0,
            sequence=1,
            inner_type=wire.ETHERTYPE_IPV4,
        )
        ipv4 = wire.Ipv4(version=4, ihl=5, total_len=20, ttl=63, protocol=253, src=0x0A000101, dst=0x0A000001)
        far.socket.send(wire.Ethernet(ether_type=wire.ETHERTYPE_OPTICAL).encode() + optical.encode() + ipv4.encode())
        frame = host.recv(2000)
        assert frame[wire.Ethernet.SIZE :][:20] == ipv4.encode()
        assert wire.Ethernet.decode(frame).dst == HOST_MAC
        card.terminate()


@pytest.mark.parametrize(
    "change, reason",
    [
        (["--edge", 2], "edge: out of range; expected 0 to 1, got 2"),
        (["--slots", 2], "slots: out of range; expected 3 to 4096, got 2"),
        (["--slot-ns", 1], "slot_ns: out of range; expected 1184000 to 1000000000, got 1"),
        (["--epoch-ns", 0], "--epoch-ns: more than 2^32 frames ago"),
        (["--control", "nowhere"], "interface nowhere"),
    ],
)
def test_a_card_that_cannot_work_is_refused(change, reason):
    given = {"--control": "nowhere", "--edges": 2, "--slots": 4, "--slot-ns": 2_000_000, "--epoch-ns": time.time_ns()}
    given[change[0]] = change[1]
    words = [str(word) for pair in given.items() for word in pair]
    done = subprocess.run(
        [SLOTWISE, "line-card", "gates", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 1
    assert reason in done.stderr
