# SPDX-License-Identifier: Apache-2.0
"""Requests, beacons, and what passes between the switch and its controller."""

from slotwise import wire
from slotwise.wire import DropReason, OpticalKind
from support import edge as e
from support.base import ethernet, frame, linecard, optical, sealed

FIRST_BLOCK, SECOND_BLOCK = 0, 1


class SignalingTest(e.EdgeTest):
    def report(self, queue, backlog_bytes=0, arrived_bytes=0):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(wire.LineCardKind.QUEUE_REPORT),
            wire.QueueReport(queue=queue, backlog_bytes=backlog_bytes, arrived_bytes=arrived_bytes),
        )

    def request_at(self, repeat, block, port=e.FIBRE):
        self.switch.insert(
            "signaling", {"core": 0, "slot": self.edge, "repeat": repeat}, "send_request", block=block, port=port
        )

    def beacon_at(self, slot, repeat, edge, port):
        self.switch.insert(
            "signaling", {"core": 0, "slot": slot, "repeat": repeat}, "send_commit", edge=edge, port=port
        )


def request(sequence, src_edge, entries=None, **fields):
    """Parts of a request; `entries` maps a position in the block to (backlog, arrived)."""
    entries = entries or {}
    return (
        ethernet(wire.ETHERTYPE_OPTICAL),
        optical(
            OpticalKind.REQUEST, src_edge=src_edge, dst_edge=e.MASTER, queue=wire.SIGNALING_QUEUE, sequence=sequence
        ),
        wire.Request(**fields),
        *(wire.RequestEntry(*entries.get(i, (0, 0))) for i in range(wire.REQUEST_ENTRIES)),
    )


class RequestContents(SignalingTest):
    """A request holds the queues of its block as last reported, and nothing of their neighbours."""

    def runTest(self):
        self.request_at(repeat=1, block=FIRST_BLOCK)
        self.request_at(repeat=2, block=SECOND_BLOCK)
        self.report(0, 1000, 5000)
        self.report(15, 0xFFFFFFFF, 0xFFFFFFFE)
        self.report(16, 7, 8)
        self.report(0, 1500, 6500)
        self.tick(self.edge, frame_number=3, repeat=1)
        self.expect(e.FIBRE, *request(1, self.edge, {0: (1500, 6500), 15: (0xFFFFFFFF, 0xFFFFFFFE)}, frame=3))
        self.tick(self.edge, frame_number=3, repeat=2)
        self.expect(e.FIBRE, *request(2, self.edge, {0: (7, 8)}, frame=3, block=SECOND_BLOCK))
        self.expect_silence()


class RareRequests(SignalingTest):
    """A request is made only in frames whose number has no bit of the mask."""

    def runTest(self):
        self.switch.insert(
            "signaling",
            {"core": 0, "slot": self.edge, "repeat": 1},
            "send_request_every",
            block=FIRST_BLOCK,
            mask=7,
            port=e.FIBRE,
        )
        self.report(0, 1000, 5000)
        for frame_number in range(1, 8):
            self.tick(self.edge, frame_number=frame_number, repeat=1)
        self.expect_drop(DropReason.NO_SIGNALING, 7)
        for sequence, frame_number in enumerate((8, 16), start=1):
            self.tick(self.edge, frame_number=frame_number, repeat=1)
            self.expect(e.FIBRE, *request(sequence, self.edge, {0: (1000, 5000)}, frame=frame_number))


class EveryEntry(SignalingTest):
    def runTest(self):
        self.request_at(repeat=1, block=FIRST_BLOCK)
        entries = {queue: (100 + queue, 200 + queue) for queue in range(wire.REQUEST_ENTRIES)}
        for queue, (backlog_bytes, arrived_bytes) in entries.items():
            self.report(queue, backlog_bytes, arrived_bytes)
        self.tick(self.edge, repeat=1)
        self.expect(e.FIBRE, *request(1, self.edge, entries))


class RequestTellsVersions(SignalingTest):
    def runTest(self):
        self.request_at(repeat=1, block=FIRST_BLOCK)
        self.at(4)
        self.beacon(frame=4, active_version=6, next_version=7, first_frame=9)
        self.tick(self.edge, frame_number=4)
        self.tick(self.edge, frame_number=4, repeat=1)
        self.expect(e.FIBRE, *request(1, self.edge, frame=4, active_version=6, next_version=7, flags=1))
        stale = 4 + e.HOLD_FRAMES + 1
        self.tick(self.edge, frame_number=stale, repeat=1)
        self.expect(e.FIBRE, *request(2, self.edge, frame=stale, active_version=6, next_version=7, flags=0))


class LastBlock(SignalingTest):
    def runTest(self):
        last = wire.MAX_QUEUES // wire.REQUEST_ENTRIES - 1
        self.request_at(repeat=1, block=last)
        self.request_at(repeat=2, block=last + 1)
        self.report(wire.MAX_QUEUES - 1, 3, 4)
        self.tick(self.edge, repeat=1)
        self.expect(e.FIBRE, *request(1, self.edge, {15: (3, 4)}, block=last))
        self.tick(self.edge, repeat=2)
        self.expect_drop(DropReason.BAD_QUEUE)


class ReportOutOfRange(SignalingTest):
    def runTest(self):
        self.report(wire.MAX_QUEUES)
        self.report(0xFFFF)
        self.expect_drop(DropReason.BAD_QUEUE, 2)


class TruncatedReport(SignalingTest):
    def runTest(self):
        whole = frame(ethernet(wire.ETHERTYPE_LINECARD), linecard(wire.LineCardKind.QUEUE_REPORT), wire.QueueReport())
        self.send(wire.PORT_LINECARD, whole[:-1])
        self.expect_drop(DropReason.TRUNCATED)


class SlaveMayNotSendBeacons(SignalingTest):
    def runTest(self):
        self.beacon_at(slot=self.edge, repeat=1, edge=e.REMOTE, port=e.FIBRE)
        self.tick(self.edge, repeat=1)
        self.expect_drop(DropReason.BAD_COMMIT)


class RequestForSlave(SignalingTest):
    def runTest(self):
        parts = list(request(1, e.REMOTE))
        parts[1] = optical(OpticalKind.REQUEST, src_edge=e.REMOTE, dst_edge=self.edge)
        self.send(e.FIBRE, *parts)
        self.expect_drop(DropReason.UNEXPECTED_PORT)


class MasterSignalingTest(SignalingTest):
    edge = e.MASTER


class MasterBeacons(MasterSignalingTest):
    """To the core by the control link, to a slave by the fibre."""

    def runTest(self):
        self.beacon_at(slot=0, repeat=1, edge=0xFFFF, port=wire.PORT_CORE_CONTROL)
        self.beacon_at(slot=1, repeat=1, edge=e.SLAVE, port=e.FIBRE)
        for sequence, slot, port, dst_edge in ((1, 0, wire.PORT_CORE_CONTROL, 0xFFFF), (2, 1, e.FIBRE, e.SLAVE)):
            self.tick(slot, frame_number=8, repeat=1)
            self.expect(
                port,
                ethernet(wire.ETHERTYPE_OPTICAL),
                optical(
                    OpticalKind.COMMIT,
                    src_edge=e.MASTER,
                    dst_edge=dst_edge,
                    queue=wire.SIGNALING_QUEUE,
                    sequence=sequence,
                ),
                wire.Commit(frame=8),
            )


class MasterOwnRequest(MasterSignalingTest):
    def runTest(self):
        self.request_at(repeat=1, block=FIRST_BLOCK, port=wire.PORT_CPU)
        self.report(2, 100, 200)
        self.tick(e.MASTER, frame_number=8, repeat=1)
        self.expect_packet_in(wire.PORT_LINECARD, *request(1, e.MASTER, {2: (100, 200)}, frame=8, flags=1))
        self.expect_silence()


class RequestOfSlaveReachesController(MasterSignalingTest):
    def runTest(self):
        self.at(8)
        parts = request(77, e.SLAVE, {3: (1, 2)}, frame=8)
        self.send(e.FIBRE, *parts)
        self.expect_packet_in(e.FIBRE, *parts)
        self.expect_silence()


class RequestForAnother(MasterSignalingTest):
    def runTest(self):
        parts = list(request(1, e.SLAVE))
        parts[1] = optical(OpticalKind.REQUEST, src_edge=e.SLAVE, dst_edge=e.REMOTE)
        self.send(e.FIBRE, *parts)
        self.expect_drop(DropReason.MISDIRECTED)


class PacketOutUnchanged(e.EdgeTest):
    """Whatever it holds: what would be refused from a port passes from the controller."""

    def runTest(self):
        for port, packet in (
            (e.HOST_PORT, frame(ethernet(wire.ETHERTYPE_IPV4), b"no header")),
            (e.FIBRE, frame(*e.beacon(e.REMOTE, e.REMOTE))),
            (wire.PORT_LINECARD, frame(ethernet(wire.ETHERTYPE_LINECARD), bytes(40))),
        ):
            self.switch.packet_out(port, packet)
            self.expect(port, packet)
        self.expect_silence()


class PacketOutNowhere(e.EdgeTest):
    def runTest(self):
        packet = frame(ethernet(wire.ETHERTYPE_IPV4), bytes(20))
        for port in (wire.PORT_CPU, wire.PORT_DROP, wire.PORT_SELF):
            self.switch.packet_out(port, packet)
        self.expect_drop(DropReason.UNEXPECTED_PORT, 3)


class PacketOutToSelf(e.MasterTest):
    """Only a commit is for the switch itself."""

    def runTest(self):
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*request(1, e.SLAVE))))
        self.switch.packet_out(
            wire.PORT_SELF, sealed(frame(ethernet(wire.ETHERTYPE_OPTICAL), optical(15, dst_edge=e.MASTER)))
        )
        self.expect_drop(DropReason.BAD_VERSION, 2)


class CommitWithWrongBits(e.MasterTest):
    """Whatever a wrong bit would make of it, from the optical header on; without a check it is none either."""

    def runTest(self):
        whole = sealed(frame(*e.beacon(e.MASTER, e.MASTER, next_version=1)))
        bits = range(8 * (wire.Ethernet.SIZE + 1), 8 * len(whole))
        for bit in bits:
            wrong = bytearray(whole)
            wrong[bit // 8] ^= 0x80 >> bit % 8
            self.switch.packet_out(wire.PORT_SELF, bytes(wrong))
        self.packet_outs_handled(e.OTHER_HOST_PORT)
        self.assertEqual(self.drops(DropReason.BAD_CHECK), len(bits))
        self.switch.packet_out(
            wire.PORT_SELF, frame(*e.beacon(e.MASTER, e.MASTER, next_version=1), bytes(wire.Check.SIZE))
        )
        self.packet_outs_handled(e.OTHER_HOST_PORT)
        self.assertEqual(self.drops(DropReason.BAD_CHECK), len(bits) + 1)
        for _ in range(2):  # the whole one is taken, once
            self.switch.packet_out(wire.PORT_SELF, whole)
        self.packet_outs_handled(e.OTHER_HOST_PORT)
        self.assertEqual(self.drops(DropReason.STALE), 1)


class TruncatedCommit(e.MasterTest):
    def runTest(self):
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*e.beacon(0, 0, next_version=1))[:-1]))
        self.expect_drop(DropReason.TRUNCATED)
