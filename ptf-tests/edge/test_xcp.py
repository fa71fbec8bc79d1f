# SPDX-License-Identifier: Apache-2.0
"""XCP-CL on an edge's VOQs: capacity from the slots granted, in the frame in which they are. What XCP makes of a packet is
tested with the router, which has the same controls."""

from slotwise import wire
from slotwise.wire import DropReason, IntervalTimer
from support import edge as e
from support.base import ethernet, frame, ipv4, optical
from support.xcp import ALPHA, INITIAL_RTT_NS, PACKET_BYTES, RATE_PER_BYTE, START_NS, XcpMixin, header, rate

REMOTE_HOST, LOCAL_HOST = 0x0A020001, 0x0A010002
QUEUE, OTHER_QUEUE, OTHER_EDGE = 2, 3, 3
SLOT_RATE = rate(1_000_000)  # what one slot a frame is worth
OVERHEAD = wire.Ethernet.SIZE + wire.Optical.SIZE
ONE_PACKET = (PACKET_BYTES + OVERHEAD) * RATE_PER_BYTE * 10  # in 100 ms


class EdgeXcp(XcpMixin):
    in_port, out_port, queue = e.HOST_PORT, e.FIBRE, QUEUE
    mac, xcp_dst = e.MAC, REMOTE_HOST
    shim_at = wire.Ethernet.SIZE + wire.Optical.SIZE + wire.Ipv4.SIZE

    def setUp(self):
        super().setUp()
        for edge, queue in ((e.REMOTE, QUEUE), (OTHER_EDGE, OTHER_QUEUE)):
            self.switch.insert("ipv4_route", {"dst": (0x0A000000 + (edge << 16), 16)}, "to_edge", edge=edge)
            self.switch.insert("voq", {"dst_edge": edge, "class": 0}, "enqueue", queue=queue, port=e.FIBRE)
        self.switch.insert(
            "ipv4_route", {"dst": (LOCAL_HOST, 32)}, "to_host", port=e.OTHER_HOST_PORT, mac=e.OTHER_HOST_MAC
        )
        self.switch.insert("xcp_output", {"queue": QUEUE}, "slot_capacity", throughput=SLOT_RATE, overhead=OVERHEAD)

    def slots(self, bank, slots, queue=QUEUE):
        self.switch.insert("xcp_slots", {"bank": bank, "queue": queue}, "granted", slots_a_frame=slots)

    def expect_capacity(self, capacity, start_ns):
        """A sender alone is granted what its packet leaves of the capacity."""
        self.interval(1, start_ns)
        self.expect_near(self.granted(), ALPHA * (capacity - ONE_PACKET), units=2)


class SlaveTest(EdgeXcp, e.EdgeTest):
    pass


class MasterTest(EdgeXcp, e.MasterTest):
    pass


class CapacityIsSlots(SlaveTest):
    def runTest(self):
        self.slots(bank=0, slots=12)
        self.slots(bank=1, slots=1)
        self.expect_capacity(12 * SLOT_RATE, START_NS)


class NoSlotsNoCapacity(SlaveTest):
    """What comes has to be taken back."""

    def runTest(self):
        self.expect_capacity(0, START_NS)


class CapacityChangesAtCommit(MasterTest):
    """With the slot tick at which the schedule changes, not when it is announced."""

    def runTest(self):
        self.slots(bank=0, slots=3)
        self.slots(bank=1, slots=10)
        self.expect_capacity(3 * SLOT_RATE, START_NS)
        self.commit(next_version=1)
        self.tick(0, frame_number=10)
        self.handled(wire.PORT_LINECARD)
        self.expect_capacity(3 * SLOT_RATE, 2 * START_NS)
        self.tick(0, frame_number=11)
        self.handled(wire.PORT_LINECARD)
        self.expect_capacity(10 * SLOT_RATE, 3 * START_NS)


class SlaveFollowsCommit(SlaveTest):
    def runTest(self):
        self.slots(bank=0, slots=3)
        self.slots(bank=1, slots=10)
        self.at(10)
        self.beacon(frame=10, active_version=4, next_version=5, first_frame=11)
        for frame_number, slots in ((10, 3), (11, 10)):
            self.tick(e.SLOT, frame_number=frame_number)
            self.handled(wire.PORT_LINECARD)
            self.expect_capacity(slots * SLOT_RATE, frame_number * START_NS)


class FixedCapacityIgnoresSlots(SlaveTest):
    """Plain XCP on a VOQ."""

    def runTest(self):
        self.switch.insert(
            "xcp_output", {"queue": OTHER_QUEUE}, "fixed_capacity", throughput=5 * SLOT_RATE, overhead=OVERHEAD
        )
        self.slots(bank=0, slots=3, queue=OTHER_QUEUE)
        self.queue, self.xcp_dst = OTHER_QUEUE, 0x0A000001 + (OTHER_EDGE << 16)
        self.expect_capacity(5 * SLOT_RATE, START_NS)


class SeveralQueues(SlaveTest):
    def runTest(self):
        self.switch.insert(
            "xcp_output", {"queue": OTHER_QUEUE}, "slot_capacity", throughput=SLOT_RATE, overhead=OVERHEAD
        )
        self.slots(bank=0, slots=3)
        self.slots(bank=0, slots=7, queue=OTHER_QUEUE)
        self.interval(1)
        self.queue, self.xcp_dst = OTHER_QUEUE, 0x0A000001 + (OTHER_EDGE << 16)
        self.expect_capacity(7 * SLOT_RATE, 5 * START_NS)
        self.queue, self.xcp_dst = QUEUE, REMOTE_HOST
        self.expect_near(self.granted(), ALPHA * (3 * SLOT_RATE - ONE_PACKET), units=2)


class CapacityIsCut(SlaveTest):
    """More than the arithmetic has room for is cut, not wrapped."""

    def runTest(self):
        self.switch.insert(
            "xcp_output", {"queue": OTHER_QUEUE}, "slot_capacity", throughput=(1 << 44) - 1, overhead=OVERHEAD
        )
        self.slots(bank=0, slots=0xFFFF, queue=OTHER_QUEUE)
        self.queue, self.xcp_dst = OTHER_QUEUE, 0x0A000001 + (OTHER_EDGE << 16)
        self.interval(1)
        self.assertEqual(self.granted(), (1 << 31) - 1)


class UncontrolledQueue(SlaveTest):
    def runTest(self):
        self.xcp_dst = 0x0A000001 + (OTHER_EDGE << 16)
        self.expect_untouched(header())
        self.assertEqual(self.verdicts()["STANDARD"], 1)
        self.send_interval_tick(OTHER_QUEUE, IntervalTimer.CONTROL, START_NS)
        self.expect_drop(DropReason.NO_SIGNALING)


class ToHostUntouched(SlaveTest):
    """The far edge passes on what the near one wrote, and does not count it."""

    def runTest(self):
        self.interval(1)
        before = self.verdicts()
        shim = header()
        whole = (ipv4(LOCAL_HOST, shim.encode()), shim)
        self.send(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(wire.OpticalKind.DATA, src_edge=e.REMOTE, dst_edge=self.edge, inner_type=wire.ETHERTYPE_IPV4),
            *whole,
        )
        self.expect(e.OTHER_HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.OTHER_HOST_MAC, src=e.MAC), *whole)
        self.assertEqual(self.verdicts(), before)


class TickIsAReport(SlaveTest):
    """What a tick says of its queue is in the next request."""

    def runTest(self):
        self.switch.insert(
            "signaling", {"core": 0, "slot": self.edge, "repeat": 1}, "send_request", block=0, port=e.FIBRE
        )
        self.assertEqual(
            self.timer(QUEUE, IntervalTimer.CONTROL, START_NS, backlog_bytes=1500, arrived_bytes=9000), INITIAL_RTT_NS
        )
        self.tick(self.edge, repeat=1)
        found = self.received(e.FIBRE)
        at = wire.Ethernet.SIZE + wire.Optical.SIZE + wire.Request.SIZE + QUEUE * wire.RequestEntry.SIZE
        self.assertEqual(
            wire.RequestEntry.decode(found[at:]), wire.RequestEntry(backlog_bytes=1500, arrived_bytes=9000)
        )


class TickOutOfRange(SlaveTest):
    def runTest(self):
        self.send_interval_tick(wire.MAX_QUEUES, IntervalTimer.QUEUE, START_NS)
        self.expect_drop(DropReason.BAD_QUEUE)


class Truncated(SlaveTest):
    def runTest(self):
        packet = frame(ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC), ipv4(REMOTE_HOST, header().encode()), header())
        self.send(e.HOST_PORT, packet[:-1])
        self.expect_drop(DropReason.TRUNCATED)
