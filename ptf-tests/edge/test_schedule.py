# SPDX-License-Identifier: Apache-2.0
"""Slot ticks to gates, and how a version of the schedule comes into force."""

from slotwise import wire
from slotwise.wire import DropReason
from support import edge as e
from support.base import UNKNOWN_VERSION, ethernet, frame, linecard, tick

OLD_QUEUE, NEW_QUEUE = 2, 3
BEACON_REPEAT = 1


class TickOpensGate(e.MasterTest):
    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.tick(e.SLOT, frame_number=5, local_ns=123_456_789_012)
        self.expect_open(OLD_QUEUE, local_ns=123_456_789_012)
        self.expect_silence()


class IdleSlot(e.MasterTest):
    def runTest(self):
        self.grant(bank=1, slot=e.SLOT, queue=OLD_QUEUE)  # the other bank's business
        self.tick(e.SLOT)
        self.tick(e.SLOT, repeat=1)
        self.expect_drop(DropReason.NO_SIGNALING, 2)


class GrantOutOfRange(e.MasterTest):
    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=wire.MAX_QUEUES)
        self.tick(e.SLOT)
        self.expect_drop(DropReason.BAD_QUEUE)


class BadLineCardMessages(e.MasterTest):
    def runTest(self):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=UNKNOWN_VERSION, kind=wire.LineCardKind.SLOT_TICK),
            wire.SlotTick(),
        )
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(wire.LineCardKind.FLOW_CONTROL),
            wire.FlowControl(),
        )
        self.expect_drop(DropReason.BAD_VERSION, 2)


class TruncatedTick(e.MasterTest):
    def runTest(self):
        whole = frame(*tick(e.SLOT))
        for length in (15, 20, len(whole) - 1):
            self.send(wire.PORT_LINECARD, whole[:length])
        self.expect_drop(DropReason.TRUNCATED, 3)


class NoLineCardMessage(e.MasterTest):
    def runTest(self):
        self.send(wire.PORT_LINECARD, *e.beacon(e.MASTER, e.MASTER))
        self.expect_drop(DropReason.UNEXPECTED_PORT)


class CommitTest(e.MasterTest):
    def setUp(self):
        super().setUp()
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.switch.insert(
            "signaling", {"core": 0, "slot": 1, "repeat": BEACON_REPEAT}, "send_commit", edge=e.SLAVE, port=e.FIBRE
        )

    def expect_beacon(self, frame_number, **fields):
        self.tick(1, frame_number=frame_number, repeat=BEACON_REPEAT)
        found = self.received(e.FIBRE)
        self.assertEqual(
            wire.Commit.decode(found[wire.Ethernet.SIZE + wire.Optical.SIZE :]),
            wire.Commit(frame=frame_number, **fields),
        )


class CommitFlipsBank(CommitTest):
    """Staged, announced at slot 0, in force from the next frame."""

    def runTest(self):
        self.commit(next_version=1)

        self.tick(e.SLOT, frame_number=9)
        self.expect_open(OLD_QUEUE)
        self.expect_beacon(9, active_version=0, next_version=0, first_frame=0)
        self.tick(0, frame_number=10)
        self.expect_beacon(10, active_version=0, next_version=1, first_frame=11)
        self.tick(e.SLOT, frame_number=10)
        self.expect_open(OLD_QUEUE)
        self.tick(0, frame_number=11)
        self.tick(e.SLOT, frame_number=11)
        self.expect_open(NEW_QUEUE)
        self.expect_beacon(11, active_version=1, next_version=1, first_frame=11)


class AnnouncedForTheWholeHold(CommitTest):
    """Slaves trust a beacon for three frames, so each hears three with the announcement, which does not move."""

    hold_frames = 3

    def runTest(self):
        self.commit(next_version=1)
        for frame_number in (10, 11, 12):
            self.tick(0, frame_number=frame_number)
            self.expect_beacon(frame_number, active_version=0, next_version=1, first_frame=13)
            self.tick(e.SLOT, frame_number=frame_number)
            self.expect_open(OLD_QUEUE)
        self.tick(0, frame_number=13)
        self.expect_beacon(13, active_version=1, next_version=1, first_frame=13)
        self.tick(e.SLOT, frame_number=13)
        self.expect_open(NEW_QUEUE)


class NoHold(CommitTest):
    """Slaves trust a beacon in its own frame only; the announcement is still heard before its frame."""

    hold_frames = 0

    def runTest(self):
        self.commit(next_version=1)
        self.tick(0, frame_number=10)
        self.expect_beacon(10, active_version=0, next_version=1, first_frame=11)


class CommitWaitsForItsFrame(CommitTest):
    """Also when the hold would end later if the announcement were made again."""

    hold_frames = 3

    def runTest(self):
        self.commit(next_version=1, first_frame=20)
        self.tick(0, frame_number=10)
        for frame_number, queue in ((11, OLD_QUEUE), (19, OLD_QUEUE), (20, NEW_QUEUE), (21, NEW_QUEUE)):
            self.tick(0, frame_number=frame_number)
            self.tick(e.SLOT, frame_number=frame_number)
            self.expect_open(queue)


class FlipInAnySlot(e.MasterTest):
    """A lost tick only delays the flip to the next slot."""

    def runTest(self):
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.commit(next_version=1)
        self.tick(0, frame_number=1)
        self.tick(e.SLOT, frame_number=2)
        self.expect_open(NEW_QUEUE)


class CommitAfterCommit(e.MasterTest):
    """Each commit uses the bank that the one before it has left; what is in force stays until then."""

    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        for version, queue in ((1, NEW_QUEUE), (2, OLD_QUEUE), (3, NEW_QUEUE)):
            announced = 10 * version
            self.commit(next_version=version, first_frame=announced + 2)
            for frame_number in (announced, announced + 1, announced + 2):
                self.tick(0, frame_number=frame_number)
            self.tick(e.SLOT, frame_number=announced + 2)
            self.expect_open(queue)
        self.tick(e.SLOT, frame_number=announced + 3)
        self.expect_open(NEW_QUEUE)


class CommitOfActiveBank(e.MasterTest):
    def runTest(self):
        self.commit(next_version=2)
        self.expect_drop(DropReason.BAD_COMMIT)


class CommitWhileAnnounced(e.MasterTest):
    """The other bank is spoken for until the announced version is in force."""

    def runTest(self):
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.commit(next_version=1, first_frame=5)
        self.tick(0, frame_number=1)
        self.handled(wire.PORT_LINECARD)
        self.commit(next_version=3)
        self.tick(e.SLOT, frame_number=5)
        self.expect_open(NEW_QUEUE)
        self.assertEqual(self.drops(DropReason.BAD_COMMIT), 1)


class CommitForSlave(e.EdgeTest):
    def runTest(self):
        self.commit(next_version=1)
        self.expect_drop(DropReason.BAD_COMMIT)


class SlaveFollowsBeacon(e.EdgeTest):
    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.at(10)
        self.beacon(frame=10, active_version=4, next_version=5, first_frame=11)
        for frame_number, queue in ((10, OLD_QUEUE), (11, NEW_QUEUE)):
            self.tick(e.SLOT, frame_number=frame_number)
            self.expect_open(queue)
        self.beacon(frame=11, active_version=5, next_version=5, first_frame=11)
        self.tick(e.SLOT, frame_number=12)
        self.expect_open(NEW_QUEUE)


class LateBeaconDoesNoHarm(e.EdgeTest):
    """A beacon of the frame before the flip that arrives after it."""

    hold_frames = 2

    def runTest(self):
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.at(9)
        for frame_number in (9, 10):
            self.beacon(frame=frame_number, active_version=4, next_version=5, first_frame=11)
            self.tick(e.SLOT, frame_number=11)
            self.expect_open(NEW_QUEUE)
        self.expect_silence()


class DarkAtTheFlip(e.EdgeTest):
    """A slave that missed all beacons with an announcement opens nothing when its frame comes."""

    hold_frames = 3

    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.at(9)
        self.beacon(frame=9)
        announced = 10
        self.tick(e.SLOT, frame_number=announced + self.hold_frames - 1)
        self.expect_open(OLD_QUEUE)
        self.tick(e.SLOT, frame_number=announced + self.hold_frames)
        self.expect_drop(DropReason.UNSYNCHRONIZED)


class EarlyBeaconWaits(e.EdgeTest):
    """A beacon of the flip's frame that comes before this edge's own tick of it."""

    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.at(10)
        self.beacon(frame=10, active_version=4, next_version=5, first_frame=11)
        self.tick(e.SLOT, frame_number=10)
        self.expect_open(OLD_QUEUE)
        self.beacon(frame=11, active_version=5, next_version=6, first_frame=12)
        for frame_number, queue in ((10, OLD_QUEUE), (11, NEW_QUEUE), (12, OLD_QUEUE)):
            self.tick(e.SLOT, frame_number=frame_number)
            self.expect_open(queue)


class SlaveTakesBeaconsVersion(e.EdgeTest):
    def runTest(self):
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.at(10)
        self.beacon(frame=10, active_version=7, next_version=7, first_frame=3)
        self.tick(e.SLOT, frame_number=10)
        self.expect_open(NEW_QUEUE)


class Unsynchronized(e.EdgeTest):
    """No data gate before the first beacon, nor when the last one is older than the hold."""

    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.tick(e.SLOT, frame_number=0)
        self.handled(wire.PORT_LINECARD)
        self.at(10)
        self.beacon(frame=10)
        self.tick(e.SLOT, frame_number=10 + e.HOLD_FRAMES)
        self.expect_open(OLD_QUEUE)
        self.tick(e.SLOT, frame_number=10 + e.HOLD_FRAMES + 1)
        self.expect_drop(DropReason.UNSYNCHRONIZED, 2)


class SignalingNeedsNoBeacon(e.EdgeTest):
    """Requests must flow before the first beacon, or there would never be one."""

    def runTest(self):
        self.grant(bank=0, slot=e.SLAVE, queue=wire.SIGNALING_QUEUE)
        self.tick(e.SLAVE)
        self.expect_open(wire.SIGNALING_QUEUE)


class ForgedBeacon(e.EdgeTest):
    """From an edge that is not the master, and from the master but with two versions in one bank."""

    def runTest(self):
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.at(10)
        self.beacon(src_edge=e.REMOTE, frame=10)
        self.beacon(frame=10, active_version=2, next_version=4, first_frame=11)
        self.expect_drop(DropReason.BAD_COMMIT, 2)
        self.tick(e.SLOT, frame_number=10)
        self.await_drops(DropReason.UNSYNCHRONIZED, 1)
        self.assertEqual(self.drops(DropReason.UNSYNCHRONIZED), 1)


class BeaconForMaster(e.MasterTest):
    def runTest(self):
        self.beacon(src_edge=e.MASTER, dst_edge=e.MASTER)
        self.expect_drop(DropReason.BAD_COMMIT)


class BeaconForAnother(e.EdgeTest):
    def runTest(self):
        self.beacon(dst_edge=e.REMOTE)
        self.expect_drop(DropReason.MISDIRECTED)
