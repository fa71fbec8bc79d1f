# SPDX-License-Identifier: Apache-2.0
"""The photonic core: what passes, what is lost and why."""

from slotwise import wire
from slotwise.wire import DropReason
from support.base import UNKNOWN_VERSION, ethernet, frame, linecard, optical, tick
from support.core import AN_AGE, FIBRES, LIGHT, SLOT, CoreTest, beacon

FRAME = 5_000  # more than FRAME_WINDOW from frame 0


class Connects(CoreTest):
    """Light passes unread and unchanged, each input to its own output."""

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1])
        self.connect(FIBRES[1], FIBRES[0])
        self.start()
        other = LIGHT[::-1]
        self.send(FIBRES[0], LIGHT)
        self.expect(FIBRES[1], LIGHT)
        self.send(FIBRES[1], other)
        self.expect(FIBRES[0], other)
        self.expect_silence()
        self.assertEqual(self.switch.counter("output_traffic", FIBRES[1]), (1, len(LIGHT)))


class SlotChoosesConnection(CoreTest):
    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1], slot=1)
        self.connect(FIBRES[0], FIBRES[2], slot=2)
        for slot in (1, 2):
            self.start(slot)
            self.send(FIBRES[0], LIGHT)
            self.expect(FIBRES[slot], LIGHT)


class Dark(CoreTest):
    """No connection in this slot, or only in the other bank."""

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1], slot=SLOT + 1)
        self.connect(FIBRES[0], FIBRES[1], bank=1)
        self.start()
        self.send(FIBRES[0], LIGHT)
        self.expect_drop(DropReason.DARK)


class Guard(CoreTest):
    guard = AN_AGE // 2

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1])
        self.start()
        self.send(FIBRES[0], LIGHT)
        self.expect_drop(DropReason.GUARD)


class Overrun(CoreTest):
    """A packet of 64 bytes takes twice the slot."""

    slot, time_per_byte_q16 = 1 << 30, 1 << 41

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1])
        self.start()
        self.send(FIBRES[0], LIGHT)
        self.expect_drop(DropReason.OVERRUN)


class Collision(CoreTest):
    """A packet of 64 bytes lasts a minute at least; a second one finds its output taken, another output is free."""

    time_per_byte_q16 = 1 << 46

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1])
        self.connect(FIBRES[1], FIBRES[2])
        self.connect(FIBRES[2], FIBRES[1])
        self.start()
        self.send(FIBRES[0], LIGHT)
        self.expect(FIBRES[1], LIGHT)
        self.send(FIBRES[1], LIGHT)
        self.expect(FIBRES[2], LIGHT)
        self.send(FIBRES[2], LIGHT)
        self.expect_drop(DropReason.COLLISION)


class BeaconFlipsBank(CoreTest):
    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1], bank=0)
        self.connect(FIBRES[0], FIBRES[2], bank=1)
        self.start(frame_number=10)
        self.beacon(frame=10, active_version=0, next_version=1, first_frame=11)
        for frame_number, output in ((10, FIBRES[1]), (11, FIBRES[2])):
            self.start(frame_number=frame_number)
            self.send(FIBRES[0], LIGHT)
            self.expect(output, LIGHT)


class CoreTakesBeaconsVersion(CoreTest):
    """What is in force is what the beacon says, also before anything is announced or flipped here."""

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[2], bank=1)
        self.start(frame_number=10)
        self.beacon(frame=10, active_version=7, next_version=8, first_frame=20)
        self.start(frame_number=10)
        self.send(FIBRES[0], LIGHT)
        self.expect(FIBRES[2], LIGHT)


class BeaconWaitsForTheCoresTick(CoreTest):
    """Light still passes by the old connections when a beacon comes before the core's own frame, or after a flip."""

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1], bank=0)
        self.connect(FIBRES[0], FIBRES[2], bank=1)
        self.start(frame_number=10)
        announcement = dict(frame=10, active_version=0, next_version=1, first_frame=11)
        self.beacon(**announcement)
        self.beacon(frame=11, active_version=1, next_version=1, first_frame=11)
        self.expect_output(FIBRES[1])
        self.start(slot=SLOT, frame_number=10)
        self.expect_output(FIBRES[1])
        self.start(frame_number=11)
        self.expect_output(FIBRES[2])
        self.beacon(**announcement)
        self.expect_output(FIBRES[2])

    def expect_output(self, port):
        self.send(FIBRES[0], LIGHT)
        self.expect(port, LIGHT)


class EarlyBeaconWithTheNextAnnouncement(CoreTest):
    """What is in force in a beacon's frame comes into force with that frame, not before."""

    def runTest(self):
        for bank in (0, 1):
            self.connect(FIBRES[0], FIBRES[1 + bank], bank=bank)
        self.start(frame_number=19)
        self.beacon(frame=20, active_version=5, next_version=6, first_frame=22)
        for frame_number, output in ((19, FIBRES[1]), (20, FIBRES[2]), (21, FIBRES[2]), (22, FIBRES[1])):
            self.start(frame_number=frame_number)
            self.send(FIBRES[0], LIGHT)
            self.expect(output, LIGHT)


class BeaconOfActiveBank(CoreTest):
    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1], bank=0)
        self.start(frame_number=10)
        self.beacon(frame=10, active_version=1, next_version=3, first_frame=11)
        self.start(frame_number=10)
        self.send(FIBRES[0], LIGHT)
        self.expect(FIBRES[1], LIGHT)
        self.expect_drop(DropReason.BAD_COMMIT)


class BeaconOfAnotherTime(CoreTest):
    """The same again, older ones, and one of the future."""

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1], bank=0)
        self.connect(FIBRES[0], FIBRES[2], bank=1)
        self.start(frame_number=FRAME)
        self.beacon(frame=FRAME, active_version=4, next_version=4)
        for frame_number in (FRAME, FRAME - 1, FRAME - wire.FRAME_WINDOW - 1):
            self.beacon(frame=frame_number, active_version=5, next_version=5, first_frame=frame_number)
        self.start(frame_number=FRAME)
        self.expect_drop(DropReason.STALE, 3)
        self.beacon(frame=FRAME + wire.FRAME_LEAD + 1, active_version=5, next_version=5)
        self.beacon(frame=FRAME + 1, active_version=4, next_version=5, first_frame=FRAME)
        self.assertEqual(self.drops(DropReason.BAD_FIELD), 2)
        self.start(frame_number=FRAME + 1)
        self.send(FIBRES[0], LIGHT)
        self.expect(FIBRES[1], LIGHT)


class BeaconBeforeTheFirstTick(CoreTest):
    """A core that does not know the frame cannot tell an old beacon from a new one."""

    def runTest(self):
        self.beacon(frame=FRAME, active_version=5, next_version=5)
        self.expect_drop(DropReason.BAD_FIELD)


class FibresCannotSignal(CoreTest):
    """A beacon or a tick on a fibre is light like any other."""

    def runTest(self):
        self.connect(FIBRES[0], FIBRES[1])
        self.start()
        for parts in (beacon(frame=1, active_version=1, next_version=1), tick(SLOT + 1)):
            self.send(FIBRES[0], *parts)
            self.expect(FIBRES[1], *parts)
        self.send(FIBRES[0], LIGHT)
        self.expect(FIBRES[1], LIGHT)


class BadVersion(CoreTest):
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
            linecard(wire.LineCardKind.QUEUE_REPORT),
            wire.QueueReport(),
        )
        self.send(
            wire.PORT_CORE_CONTROL, ethernet(wire.ETHERTYPE_OPTICAL), optical(wire.OpticalKind.REQUEST), bytes(144)
        )
        self.expect_drop(DropReason.BAD_VERSION, 3)


class Truncated(CoreTest):
    def runTest(self):
        self.send(wire.PORT_LINECARD, frame(*tick(SLOT))[:-1])
        self.send(wire.PORT_CORE_CONTROL, frame(*beacon())[:-1])
        self.expect_drop(DropReason.TRUNCATED, 2)


class UnexpectedPort(CoreTest):
    """Ticks by the control link, beacons by the control unit's port, anything by a port outside the plan."""

    def runTest(self):
        self.send(wire.PORT_CORE_CONTROL, *tick(SLOT))
        self.send(wire.PORT_LINECARD, *beacon())
        self.send(1, LIGHT)
        self.send(wire.PORT_LINECARD + 2, LIGHT)
        self.expect_drop(DropReason.UNEXPECTED_PORT, 4)


class RepeatedTick(CoreTest):
    def runTest(self):
        self.send(wire.PORT_LINECARD, *tick(SLOT, repeat=1))
        self.expect_drop(DropReason.NO_SIGNALING)


class PacketOut(CoreTest):
    def runTest(self):
        self.switch.packet_out(FIBRES[2], LIGHT)
        self.expect(FIBRES[2], LIGHT)
        self.switch.packet_out(wire.PORT_SELF, LIGHT)
        self.expect_drop(DropReason.UNEXPECTED_PORT)
