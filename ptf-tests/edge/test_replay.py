# SPDX-License-Identifier: Apache-2.0
"""Control messages that are replayed, reordered, too old, or of frames and versions that cannot be: refused and counted,
and the schedule in force is as if they had not come."""

from slotwise import wire
from slotwise.wire import DropReason, FaultCode, OpticalKind
from support import edge as e
from support.base import ethernet, frame, optical, sealed, tick

OLD_QUEUE, NEW_QUEUE = 2, 3
BEACON_REPEAT = 1
FRAME = 500_000  # farther than any window from frame 0
WRAP = 1 << 32
OWN_PHASE_NS = 10_000


class ScheduleTest(e.EdgeTest):
    """Slots of both banks are granted, so that a gate shows which version is in force."""

    def setUp(self):
        super().setUp()
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)

    def expect_bank(self, frame_number, bank):
        self.tick(e.SLOT, frame_number=frame_number % WRAP)
        self.expect_open((OLD_QUEUE, NEW_QUEUE)[bank])

    def expect_counts(self, **counts):
        """So many packets were dropped for each reason, and none for another."""
        found = {reason.name: self.drops(reason) for reason in DropReason if self.drops(reason)}
        self.assertEqual(found, counts)


class CommitTest(ScheduleTest):
    edge = e.MASTER

    def setUp(self):
        super().setUp()
        self.switch.insert(
            "signaling", {"core": 0, "slot": 1, "repeat": BEACON_REPEAT}, "send_commit", edge=e.SLAVE, port=e.FIBRE
        )
        self.at(FRAME)

    def slot_0(self, frame_number):
        """Where the master announces what is staged."""
        self.send_marker(DropReason.NO_SIGNALING, wire.PORT_LINECARD, *tick(0, frame_number % WRAP))

    def expect_beacon(self, frame_number, **fields):
        self.tick(1, frame_number=frame_number % WRAP, repeat=BEACON_REPEAT)
        found = self.received(e.FIBRE)
        self.assertEqual(
            wire.Commit.decode(found[wire.Ethernet.SIZE + wire.Optical.SIZE :]),
            wire.Commit(frame=frame_number % WRAP, **fields),
        )


class ReplayedCommit(CommitTest):
    """Once it is staged, once it is announced, and once it or a later one is in force."""

    def runTest(self):
        self.commit(next_version=1, first_frame=FRAME + 3)
        self.commit(next_version=1, first_frame=FRAME + 3)
        self.expect_counts(STALE=1)
        self.slot_0(FRAME + 1)
        self.commit(next_version=1, first_frame=FRAME + 20)
        self.expect_counts(STALE=2)
        self.expect_bank(FRAME + 2, 0)
        self.expect_bank(FRAME + 3, 1)
        for version in (0, 1, WRAP - 1):
            self.commit(next_version=version, first_frame=FRAME + 4)
        self.expect_counts(STALE=5)
        self.slot_0(FRAME + 4)
        self.expect_bank(FRAME + 5, 1)


class CommitOfALaterVersion(CommitTest):
    """Of the right bank, but versions were left out."""

    def runTest(self):
        self.commit(next_version=3, first_frame=FRAME + 1)
        self.expect_counts(BAD_COMMIT=1)
        self.slot_0(FRAME + 1)
        self.expect_bank(FRAME + 3, 0)


class CommitForAFarFrame(CommitTest):
    """It would keep the master from every change until then."""

    def runTest(self):
        self.commit(next_version=1, first_frame=FRAME + wire.MAX_COMMIT_LEAD + 1)
        self.expect_counts(BAD_FIELD=1)
        self.commit(next_version=1, first_frame=FRAME - wire.ORDER_WINDOW - 1)
        self.commit(next_version=1, first_frame=FRAME + (1 << 31))
        self.expect_counts(BAD_FIELD=1, STALE=2)
        self.slot_0(FRAME + 1)
        self.expect_bank(FRAME + 3, 0)
        self.commit(next_version=1, first_frame=FRAME + wire.MAX_COMMIT_LEAD)
        self.slot_0(FRAME + 4)
        self.expect_beacon(FRAME + 4, active_version=0, next_version=1, first_frame=FRAME + wire.MAX_COMMIT_LEAD)


class CommitThatIsAlmostTooOld(CommitTest):
    def runTest(self):
        self.commit(next_version=1, first_frame=FRAME - wire.ORDER_WINDOW)
        self.slot_0(FRAME + 1)
        self.expect_beacon(FRAME + 1, active_version=0, next_version=1, first_frame=FRAME + 2)


class MasterOverTheWrap(CommitTest):
    """Frame numbers go round between the announcement and its frame."""

    def runTest(self):
        self.at(WRAP - 2)
        self.commit(next_version=1, first_frame=WRAP + 1)
        self.slot_0(WRAP - 1)
        self.expect_beacon(WRAP - 1, active_version=0, next_version=1, first_frame=1)
        for frame_number, bank in ((WRAP - 1, 0), (WRAP, 0), (WRAP + 1, 1), (WRAP + 2, 1)):
            self.expect_bank(frame_number, bank)


class SlaveTest(ScheduleTest):
    """It has version 4 in force."""

    hold_frames = 3

    def setUp(self):
        super().setUp()
        self.at(FRAME)
        self.beacon(frame=FRAME, active_version=4, next_version=4, first_frame=FRAME - 100)


class ReplayedBeacon(SlaveTest):
    """The last one again, older ones, one that is older than the window, with whatever versions."""

    def runTest(self):
        for frame_number in (FRAME, FRAME - 1, FRAME - wire.FRAME_WINDOW - 1, FRAME + (1 << 31)):
            self.beacon(frame=frame_number, active_version=3, next_version=3, first_frame=frame_number)
        self.expect_counts(STALE=3, BAD_FIELD=1)
        self.expect_bank(FRAME + 1, 0)


class BeaconOfTheFuture(SlaveTest):
    """A frame ahead is taken, more is not."""

    def runTest(self):
        ahead = FRAME + wire.FRAME_LEAD
        self.beacon(frame=ahead + 1, active_version=5, next_version=5, first_frame=FRAME)
        self.expect_counts(BAD_FIELD=1)
        self.beacon(frame=ahead, active_version=5, next_version=5, first_frame=FRAME)
        self.expect_counts(BAD_FIELD=1)
        self.expect_bank(FRAME + 1, 1)


class BeaconOfNoFrame(SlaveTest):
    """What it announces is to hold from a frame that is past, or farther than any."""

    def runTest(self):
        for first_frame in (FRAME + 1, FRAME, FRAME + 1 + wire.FRAME_WINDOW + 1):
            self.beacon(frame=FRAME + 1, active_version=4, next_version=5, first_frame=first_frame)
        self.expect_counts(BAD_FIELD=3)
        self.expect_bank(FRAME + 1, 0)


class BeaconOfVersionsApart(SlaveTest):
    def runTest(self):
        for next_version in (3, 6, 7):
            self.beacon(frame=FRAME + 1, active_version=4, next_version=next_version, first_frame=FRAME + 2)
        self.expect_counts(BAD_COMMIT=3)
        self.expect_bank(FRAME + 2, 0)


class MasterThatStartedAnew(SlaveTest):
    """Its versions begin at 0 again; its frames go on, so nothing older than its first beacon is taken any more."""

    def runTest(self):
        self.beacon(frame=FRAME + 1, active_version=0, next_version=1, first_frame=FRAME + 2)
        self.beacon(frame=FRAME, active_version=4, next_version=4, first_frame=FRAME)
        self.expect_counts(STALE=1)
        self.expect_bank(FRAME + 1, 0)
        self.expect_bank(FRAME + 2, 1)


class SlaveOverTheWrap(ScheduleTest):
    """Frame numbers go round; who has heard nothing since is dark on either side."""

    hold_frames = 2

    def runTest(self):
        self.at(WRAP - 2)
        self.beacon(frame=WRAP - 2, active_version=4, next_version=5, first_frame=0)
        for frame_number, bank in ((WRAP - 1, 0), (WRAP, 1)):
            self.expect_bank(frame_number, bank)
        self.tick(e.SLOT, frame_number=1)
        self.await_drops(DropReason.UNSYNCHRONIZED, 1)
        self.beacon(frame=1, active_version=5, next_version=5)
        self.expect_bank(1, 1)
        self.expect_counts(UNSYNCHRONIZED=1)


class DarkBeforeTheFirstBeacon(ScheduleTest):
    """Whatever the frame."""

    def runTest(self):
        frames = (0, 1 << 31, WRAP - 1)
        for frame_number in frames:
            self.tick(e.SLOT, frame_number=frame_number)
        self.expect_drop(DropReason.UNSYNCHRONIZED, len(frames))


class HearsAgainAfterAges(SlaveTest):
    """The last beacon is so long ago that it looks newer than the next one."""

    def runTest(self):
        later = FRAME + (1 << 31) + 1
        self.at(later)
        self.beacon(frame=later, active_version=5, next_version=5)
        self.expect_bank(later, 1)


class RequestOfAnotherTime(e.MasterTest):
    def request(self, frame_number):
        return frame(
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(OpticalKind.REQUEST, src_edge=e.SLAVE, dst_edge=e.MASTER),
            wire.Request(frame=frame_number),
            bytes(wire.REQUEST_ENTRIES * wire.RequestEntry.SIZE),
        )

    def runTest(self):
        self.at(FRAME)
        for frame_number in (FRAME + wire.FRAME_LEAD, FRAME - wire.FRAME_WINDOW):
            self.send(e.FIBRE, self.request(frame_number))
            self.expect_packet_in(e.FIBRE, self.request(frame_number))
        self.send(e.FIBRE, self.request(FRAME + wire.FRAME_LEAD + 1))
        self.await_drops(DropReason.BAD_FIELD, 1)
        self.send(e.FIBRE, self.request(FRAME - wire.FRAME_WINDOW - 1))
        self.await_drops(DropReason.STALE, 1)
        self.assertEqual((self.drops(DropReason.BAD_FIELD), self.drops(DropReason.STALE)), (1, 1))
        self.expect_silence()


class ShutdownTest(e.MasterTest):
    """What the controller orders shows in what slaves get instead of a beacon."""

    def setUp(self):
        super().setUp()
        self.switch.set_default("membership", "inviting", own_phase_ns=OWN_PHASE_NS)
        self.switch.insert(
            "signaling", {"core": 0, "slot": 1, "repeat": BEACON_REPEAT}, "send_commit", edge=e.SLAVE, port=e.FIBRE
        )
        self.at(FRAME)

    def order(self, frame_number, flags=0, code=FaultCode.SHUTDOWN, session=0, dst_edge=e.MASTER):
        parts = (
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(OpticalKind.FAULT, src_edge=e.MASTER, dst_edge=dst_edge),
            wire.Fault(session=session, frame=frame_number, code=code, flags=flags, edge=e.MASTER),
        )
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*parts)))
        self.packet_outs_handled(e.OTHER_HOST_PORT)

    def expect_ending(self, ending):
        self.tick(1, frame_number=FRAME, repeat=BEACON_REPEAT)
        kind = wire.Optical.decode(self.received(e.FIBRE)[wire.Ethernet.SIZE :]).kind
        self.assertEqual(kind, OpticalKind.FAULT if ending else OpticalKind.COMMIT)


class OrdersAreTakenOnce(ShutdownTest):
    def runTest(self):
        self.order(FRAME)
        self.expect_ending(True)
        self.order(FRAME + 1, flags=1)
        self.expect_ending(False)
        self.order(FRAME)
        self.order(FRAME + 1)
        self.assertEqual(self.drops(DropReason.STALE), 2)
        self.expect_ending(False)


class OrdersOfAnotherTime(ShutdownTest):
    def runTest(self):
        self.order(FRAME - wire.ORDER_WINDOW - 1)
        self.assertEqual(self.drops(DropReason.STALE), 1)
        self.order(FRAME + wire.FRAME_LEAD + 1)
        self.order(FRAME, flags=2)
        self.order(FRAME, session=7)
        self.order(FRAME, code=FaultCode.POWER)
        self.assertEqual(self.drops(DropReason.BAD_FIELD), 4)
        self.order(FRAME, dst_edge=e.SLAVE)
        self.assertEqual(self.drops(DropReason.MISDIRECTED), 1)
        self.expect_ending(False)


class MessageForAnotherEdge(e.MasterTest):
    """A packet-out that was meant for another switch."""

    def runTest(self):
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*e.beacon(e.MASTER, e.REMOTE, next_version=1))))
        self.expect_drop(DropReason.MISDIRECTED)
