# SPDX-License-Identifier: Apache-2.0
"""What a station is told by the next one, or by somebody who may not."""

from slotwise import wire
from slotwise.wire import DropReason, RingKind
from support import ring as r
from support.base import UNKNOWN_VERSION, sealed_on_ring

RATE = 2_000_000
# Behind the headers that say whose message it is, and the check itself.
MESSAGE_AT = wire.Ethernet.SIZE + wire.Ring.SIZE


class ToldTest(r.TickedTest):
    def expect_refused(self, reason, *messages, port=r.EAST):
        """All of them are dropped, and change nothing."""
        for count, message in enumerate(messages, 1):
            self.send(port, message)
            self.await_drops(reason, count)
        self.expect_drop(reason, len(messages))
        self.tick_and_expect(ticks=0)


class HoldsAndTellsOn(ToldTest):
    """At once; and again at a tick if it was not told again in the interval."""

    def runTest(self):
        self.told((5, 2, 3, RATE))
        self.expect_told((5, 3, 2, RATE))
        self.tick_and_expect((2, RATE), ticks=0)
        self.expect_silence()
        self.tick_and_expect((2, RATE), ticks=1)
        self.tick_for_message()
        self.expect_told((5, 3, 2, RATE), sequence=2)


class TheTailTellsNobody(ToldTest):
    def runTest(self):
        self.told((5, 2, 0, RATE))
        self.tick_and_expect((2, RATE), ticks=0)


class NeverFurtherThanOnceRound(ToldTest):
    def runTest(self):
        self.told((4, r.STATIONS - 1, 9, RATE))
        self.tick_and_expect((r.STATIONS - 1, RATE), ticks=0)


class SeveralHeads(ToldTest):
    """Only what is less than what is nearer matters; who is out of reach is not told on."""

    def runTest(self):
        self.told((4, 1, 3, 4 * RATE), (5, 2, 3, 5 * RATE), (6, 3, 0, 2 * RATE), (7, 4, 2, RATE))
        self.expect_told((4, 2, 2, 4 * RATE), (7, 5, 1, RATE))
        self.tick_and_expect((1, 4 * RATE), (3, 2 * RATE), (4, RATE))


class HeadItselfAndTold(ToldTest):
    """Its own link is the nearest; of five limits the last two become one, the lower rate from the nearer link on."""

    def runTest(self):
        self.pass_through(900)
        (own,) = self.tick_and_expect((0, r.TARGET / 2), added=900, ticks=1)
        self.told((4, 1, 3, 3 * RATE), (5, 2, 3, 2 * RATE), (6, 3, 3, RATE), (7, 4, 3, RATE // 2))
        self.expect_told((r.STATION, 1, 1, own), (4, 2, 2, 3 * RATE), (5, 3, 2, 2 * RATE), (6, 4, 2, RATE // 2))
        self.pass_through(900)
        self.tick_and_expect((0, r.TARGET / 2), (1, 3 * RATE), (2, 2 * RATE), (3, RATE // 2), added=900, ticks=0)
        self.expect_silence()


class NewsReplacesWhatWasTold(ToldTest):
    def runTest(self):
        self.told((5, 2, 0, RATE), (6, 3, 0, RATE // 2))
        self.told((6, 3, 0, 2 * RATE))
        self.tick_and_expect((3, 2 * RATE))
        self.told()
        self.tick_and_expect(ticks=0)


class WhatIsNotToldAgainRises(ToldTest):
    """HOLD intervals it stands, then it rises by C/64 an interval until it is none."""

    def runTest(self):
        self.told((5, 2, 0, r.CAPACITY - 2 * r.STEP))
        for _ in range(r.HOLD):
            self.tick_and_expect((2, r.CAPACITY - 2 * r.STEP))
        self.tick_and_expect((2, r.CAPACITY - r.STEP))
        self.tick_and_expect()
        self.tick_and_expect()


class Stale(ToldTest):
    """The same number again, and older ones, in serial arithmetic."""

    def runTest(self):
        self.told((5, 2, 0, RATE), sequence=0x7FFFFFFF)
        for sequence in (0x7FFFFFFF, 0x7FFFFFFE, 1, 0, 0xFFFFFFFF):
            self.send(r.EAST, r.fairness((5, 2, 0, 2 * RATE), sequence=sequence))
        self.expect_drop(DropReason.STALE, 5)
        self.tick_and_expect((2, RATE))
        self.told((5, 2, 0, 3 * RATE), sequence=0x80000000)
        self.tick_and_expect((2, 3 * RATE))


class AfterSilenceAnyNumberIsNew(ToldTest):
    def runTest(self):
        self.told((5, 2, 0, RATE), sequence=9)
        for _ in range(r.HOLD + 1):
            self.tick()
            self.received(wire.PORT_LINECARD)
        self.told((5, 2, 0, RATE), sequence=3)
        self.tick_and_expect((2, RATE))


class WrongCheck(ToldTest):
    """Any bit of the message that is turned is found out."""

    def runTest(self):
        whole = r.fairness((5, 2, 3, RATE))
        wrong = []
        for at in range(MESSAGE_AT, len(whole)):
            turned = bytearray(whole)
            turned[at] ^= 1 << at % 8
            wrong.append(bytes(turned))
        self.expect_refused(DropReason.BAD_CHECK, *wrong)


class NotOfTheNextStation(ToldTest):
    def runTest(self):
        senders = (2, 5, 8, 65535, r.STATION)
        self.expect_refused(
            DropReason.NOT_A_MEMBER, *(r.fairness((5, 2, 3, RATE), source=sender) for sender in senders)
        )


class ForAnotherStation(ToldTest):
    def runTest(self):
        self.expect_refused(
            DropReason.MISDIRECTED,
            r.fairness((5, 2, 3, RATE), destination=5),
            r.fairness((5, 2, 3, RATE), destination=8),
        )


class BadEntries(ToldTest):
    """A head that is no station, too far away, at no distance or here; a rate of nothing; more entries than there are."""

    def runTest(self):
        self.expect_refused(
            DropReason.BAD_FIELD,
            r.fairness((8, 2, 3, RATE)),
            r.fairness((5, 8, 3, RATE)),
            r.fairness((5, 0, 3, RATE)),
            r.fairness((r.STATION, 2, 3, RATE)),
            r.fairness((5, 2, 3, 0)),
            r.fairness((5, 2, 3, RATE), (8, 3, 3, RATE)),
            r.fairness((5, 2, 3, RATE), count=5),
            r.fairness((5, 2, 3, RATE), count=255),
            r.fairness((5, 2, 3, RATE), count=2),
        )


class NotTheNearestFirst(ToldTest):
    def runTest(self):
        near, far, farther = (4, 1, 3, 3 * RATE), (5, 2, 3, 2 * RATE), (6, 3, 3, RATE)
        self.expect_refused(
            DropReason.BAD_FIELD,
            r.fairness(far, near),
            r.fairness(near, near),
            r.fairness(near, farther, far),
            r.fairness(near, far, farther, far),
        )


class ByTheWrongPort(ToldTest):
    """About a ringlet a message comes by the port where that ringlet goes on."""

    def runTest(self):
        self.expect_refused(
            DropReason.BAD_FIELD, r.fairness((5, 2, 3, RATE)), r.fairness((5, 2, 3, RATE), ringlet=2), port=r.WEST
        )


class OfAHost(ToldTest):
    def runTest(self):
        self.expect_refused(DropReason.UNEXPECTED_PORT, r.fairness((5, 2, 3, RATE)), port=r.HOST_PORT)


class OtherVersion(ToldTest):
    def runTest(self):
        whole = bytearray(r.fairness_parts((5, 2, 3, RATE)))
        whole[14] = UNKNOWN_VERSION << 4 | RingKind.FAIRNESS
        self.expect_refused(DropReason.BAD_VERSION, bytes(whole), sealed_on_ring(bytes(whole)))


class OfTheController(ToldTest):
    """It has no say unless the mode is CONTROLLER."""

    def runTest(self):
        self.switch.packet_out(wire.PORT_SELF, r.fairness((5, 2, 3, RATE)))
        self.packet_outs_handled(r.HOST_PORT)
        self.expect_drop(DropReason.UNEXPECTED_PORT)
        self.tick_and_expect(ticks=0)
