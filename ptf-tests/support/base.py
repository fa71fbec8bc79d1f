# SPDX-License-Identifier: Apache-2.0
"""Base of all tests of switch programs, independent of the tested target."""

import queue
import time
import zlib
from collections import Counter
from pathlib import Path

import ptf
import ptf.testutils as testutils
from ptf.base_tests import BaseTest

from slotwise import wire
from support.p4rt import Switch

DEADLINE_S = 5
# How long a wrong packet gets to show itself, after the switch has counted what it did.
QUIET_S = 0.05
UNKNOWN_VERSION = 15

_switches = {}


def _switch():
    """One connection for all tests, since a second stream with the same election id is rejected."""
    params = testutils.test_params_get()
    key = (params["grpc"], params["device_id"])
    if key not in _switches:
        _switches[key] = Switch(*key)
    return _switches[key]


class SwitchTest(BaseTest):
    """Test that starts with a newly pushed program: empty tables, zero registers and counters."""

    program = None

    @staticmethod
    def seal(data):
        """Message between switch and controller."""
        return sealed(data)

    def setUp(self):
        super().setUp()
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        self.markers = Counter()
        self.switch = _switch()
        out = Path(testutils.test_params_get()["p4c_out"])
        self.switch.push(out / f"{self.program}.json", out / f"{self.program}.p4info.txtpb")
        while not self.switch.packet_ins.empty():
            self.switch.packet_ins.get()

    def send(self, port, *parts):
        """Sends one frame made of headers and bytes into a port of the switch."""
        self.dataplane.send(0, port, frame(*parts))

    def expect(self, port, *parts):
        """Expects exactly this frame as the next one at output `port`."""
        found = self.received(port)
        self.assertEqual(found.hex(), frame(*parts).hex(), f"frame on port {port}")

    def received(self, port):
        result = self.dataplane.poll(device_number=0, port_number=port, timeout=DEADLINE_S)
        if isinstance(result, self.dataplane.PollFailure):
            self.fail(f"no frame left by port {port}")
        return result.packet

    def expect_packet_in(self, ingress_port, *parts):
        try:
            port, found = self.switch.packet_in(DEADLINE_S)
        except queue.Empty:
            self.fail("no packet-in")
        self.assertEqual((port, found.hex()), (ingress_port, self.seal(frame(*parts)).hex()))

    def expect_silence(self):
        result = self.dataplane.poll(device_number=0, timeout=QUIET_S)
        if isinstance(result, self.dataplane.PollSuccess):
            self.fail(f"frame on port {result.port}: {result.packet.hex()}")
        self.assertTrue(self.switch.packet_ins.empty(), "packet-in")

    def expect_drop(self, reason, count=1):
        """Expects `count` packets dropped for this reason since the start of the test, none for another, none sent."""
        self.await_drops(reason, count)
        found = {r.name: self.drops(r) for r in wire.DropReason if self.drops(r)}
        self.assertEqual(found, {reason.name: count})
        self.expect_silence()

    def await_drops(self, reason, count):
        deadline = time.monotonic() + DEADLINE_S
        while self.drops(reason) < count and time.monotonic() < deadline:
            pass

    def drops(self, reason):
        """Packets dropped for this reason, without those that helpers of the test sent to be dropped."""
        return self.switch.counter("drops", reason)[0] - self.markers[reason]

    def handled(self, port):
        """Waits until all frames sent into `port` have been processed: the last one has been dropped."""
        ether_type = wire.ETHERTYPE_LINECARD if port == wire.PORT_LINECARD else wire.ETHERTYPE_OPTICAL
        self.send_marker(
            wire.DropReason.BAD_VERSION, port, ethernet(ether_type), bytes([UNKNOWN_VERSION << 4]) + bytes(15)
        )

    def send_marker(self, reason, port, *parts):
        """Sends a frame that is dropped for `reason`, and waits for the drop."""
        before = self.drops(reason)
        self.send(port, *parts)
        self.await_drops(reason, before + 1)
        self.markers[reason] += 1
        self.assertEqual(self.drops(reason), before, f"frames into port {port} not handled in time")

    def packet_outs_handled(self, port):
        """Waits until all packet-outs have been processed: the last one has left by `port`."""
        marker = frame(ethernet(0x88B7), b"marker")
        self.switch.packet_out(port, marker)
        self.expect(port, marker)


def frame(*parts):
    return b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)


# Of the headers that a kind of message has behind the optical one.
PAYLOAD_BYTES = {
    wire.OpticalKind.REQUEST: wire.Request.SIZE + wire.REQUEST_ENTRIES * wire.RequestEntry.SIZE,
    wire.OpticalKind.COMMIT: wire.Commit.SIZE,
    wire.OpticalKind.INVITATION: wire.Stamp.SIZE + wire.Invitation.SIZE,
    wire.OpticalKind.CONFIGURATION: wire.Configuration.SIZE,
    wire.OpticalKind.SYNC: wire.Stamp.SIZE + wire.Sync.SIZE,
    wire.OpticalKind.FAULT: wire.Fault.SIZE,
}


RING_PAYLOAD_BYTES = {
    wire.RingKind.FAIRNESS: wire.Fairness.SIZE + wire.FAIRNESS_ENTRIES * wire.FairnessEntry.SIZE,
    wire.RingKind.REPORT: wire.RingReport.SIZE + wire.REPORT_SOURCES * wire.ReportSource.SIZE,
}


def with_check(data, header, payload_bytes):
    """Frame with a CRC behind its header, if it has one; `payload_bytes` of a header is the length of the checked payload."""
    start, end = wire.Ethernet.SIZE, wire.Ethernet.SIZE + header.SIZE
    if len(data) < end or int.from_bytes(data[start - 2 : start], "big") != wire.ETHERTYPE_OPTICAL:
        return data
    size = payload_bytes(header.decode(data[start:]))
    return data[:end] + wire.Check(crc=zlib.crc32(data[start : end + size])).encode() + data[end:]


def sealed(data):
    """Frame between switch and controller, with a CRC if it has an optical header."""
    return with_check(
        data,
        wire.Optical,
        lambda header: PAYLOAD_BYTES.get(header.kind, 0) if header.version == wire.OPTICAL_VERSION else 0,
    )


def sealed_on_ring(data):
    """Frame with a ring header and its CRC."""
    return with_check(data, wire.Ring, lambda header: RING_PAYLOAD_BYTES.get(header.kind, 0))


def optical(kind, **fields):
    return wire.Optical(version=wire.OPTICAL_VERSION, kind=kind, **fields)


def linecard(kind):
    return wire.Linecard(version=wire.LINECARD_VERSION, kind=kind, port=wire.PORT_OPTICAL_BASE)


def ethernet(ether_type, dst=0xFFFFFFFFFFFF, src=0x020000000001):
    return wire.Ethernet(dst=dst, src=src, ether_type=ether_type)


def tick(slot, frame_number=0, repeat=0, local_ns=0):
    """Slot tick of a line card."""
    return (
        ethernet(wire.ETHERTYPE_LINECARD),
        linecard(wire.LineCardKind.SLOT_TICK),
        wire.SlotTick(frame=frame_number, slot=slot, repeat=repeat, local_ns=local_ns),
    )


def checksum(header):
    """Checksum of an IPv4 header."""
    data = frame(wire.Ipv4(**{**header.__dict__, "checksum": 0}))
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(dst, payload=b"", **fields):
    """IPv4 header with a correct checksum for `payload`."""
    defaults = dict(version=4, ihl=5, total_len=20 + len(payload), ttl=64, protocol=253, src=0x0A000001, dst=dst)
    header = wire.Ipv4(**{**defaults, **fields})
    return wire.Ipv4(**{**header.__dict__, "checksum": checksum(header)})
