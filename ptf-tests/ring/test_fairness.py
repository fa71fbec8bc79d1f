# SPDX-License-Identifier: Apache-2.0
"""A station that is the head of a span by explicit rates: estimators, congestion, the rate that it tells."""

from slotwise import wire
from slotwise.wire import DropReason, RingClass
from support import ring as r
from support.base import ethernet

HALF = r.TARGET / 2


class CongestedTest(r.TickedTest):
    def congested(self):
        """The link is full, and the card has been told so."""
        self.congest()
        self.expect_limits((0, HALF))

    def intervals(self, count, *transits, **own):
        """So many intervals, in each of which (bytes, source) go through."""
        for _ in range(count):
            for size, source in transits:
                self.pass_through(size, source)
            self.tick_and_expect((0, None), **own)


class FirstTickIsQuiet(r.RingTest):
    """What the card had added before counts for nothing."""

    def runTest(self):
        self.tick_and_expect(added=1_000_000, ticks=0)
        self.tick_and_expect(ticks=0)
        self.expect_silence()


class BelowTheThresholdAllIsFree(CongestedTest):
    def runTest(self):
        self.pass_through(700)
        self.tick_and_expect(added=893, ticks=0)  # 1593 of 1593.75


class OverTheThresholdItIsShared(CongestedTest):
    def runTest(self):
        self.congest()
        self.expect_limits((0, HALF), ticks=1)


class BothRingletsAreApart(CongestedTest):
    def runTest(self):
        self.congest()
        self.expect_limits((0, HALF))
        self.tick(port=r.WEST)
        self.expect_limits(port=r.WEST, ticks=0)


class AloneItHasTheTarget(CongestedTest):
    def runTest(self):
        self.tick_and_expect((0, r.TARGET), added=1800, ticks=0)


class ByWeight(CongestedTest):
    """Three for this station, one for the other."""

    weight = 3

    def runTest(self):
        self.congest()
        self.expect_limits((0, 3 * (r.TARGET // 4)))


class WeightsOfOthers(CongestedTest):
    def runTest(self):
        self.pass_through(900, weight=4)
        self.tick_and_expect((0, r.TARGET / 5), added=900)


class CommittedTrafficIsNotShared(CongestedTest):
    """Of the target, what is committed is taken away first: 500 and 300 bytes of an interval are 8 MB/s."""

    def runTest(self):
        self.pass_through(500, traffic_class=RingClass.COMMITTED)
        self.pass_through(300, source=2, traffic_class=RingClass.EXCESS)
        self.tick_and_expect((0, (r.TARGET - 8_000_000) / 2), added=800, committed=300)


class WaitingTooLongIsCongestion(CongestedTest):
    def runTest(self):
        self.tick_and_expect(ticks=0, hol_delay_ns=1_000_000, added=100)
        self.tick_and_expect((0, r.TARGET), hol_delay_ns=1_000_001, added=100)


class WhoWantsLessLeavesItToOthers(CongestedTest):
    """After a whole window of its own. A window is two intervals; source 1 has 2 MB/s, source 2 and this station the rest."""

    def runTest(self):
        self.congested()
        self.intervals(9, (200, 1), (700, 2), added=695)
        self.pass_through(200)
        self.pass_through(700, source=2)
        self.tick_and_expect((0, (r.TARGET - 2_000_000) / 2), added=695)


class OfSatisfiedStationsTheLargestIsToldTheRest(CongestedTest):
    """All have less than their part: what they leave is for the largest one."""

    def runTest(self):
        self.congested()
        self.intervals(8, (400, 1), added=650, hol_delay_ns=2_000_000)
        self.pass_through(400)
        self.tick_and_expect((0, r.TARGET - 4_000_000), added=650, hol_delay_ns=2_000_000)


class WhoSendsAPacketNowAndThenIsKnown(CongestedTest):
    """Once a window was measured, source 2 counts with what it had when it comes back, until it has its bucket and more beyond that."""

    def expect_share(self, rate, *transits):
        for size, source in ((850, 1), *transits):
            self.pass_through(size, source)
        self.tick_and_expect((0, rate), added=800)

    def runTest(self):
        known = 40 * 5000
        self.congested()
        self.expect_share(r.TARGET / 3, (40, 2))
        self.expect_share(r.TARGET / 3)
        self.expect_share(HALF)
        self.expect_share(HALF, (40, 2))
        for _ in range(2):
            self.expect_share((r.TARGET - known) / 2)
            self.expect_share((r.TARGET - known) / 2)
            self.expect_share(HALF)
            self.expect_share(HALF)
            self.expect_share(HALF)
            self.expect_share((r.TARGET - known) / 2, (40, 2))
        self.expect_share((r.TARGET - 140 * 5000) / 2, (100, 2))
        self.expect_share(r.TARGET / 3, (241, 2))
        # That was all in this window, and far from its part.
        self.expect_share((r.TARGET - 241 * 5000) / 2)


class WhoIsKnownFromBeforeTheCongestion(CongestedTest):
    """Source 2 has less than an equal part while nobody is told anything; source 1 begins the congestion, and counts at once."""

    def runTest(self):
        for _ in range(8):
            self.pass_through(40, source=2)
            self.tick_and_expect(added=700)
        self.pass_through(40, source=2)
        self.pass_through(900, source=1)
        self.tick_and_expect((0, (r.TARGET - 80 * 5000) / 2), added=900)


class SmallPartsAreMeasuredOverSeveralWindows(CongestedTest):
    """Of this station's part a window has less than its bucket, so one window says nothing of it. Source 1 has the weight of sixty."""

    def runTest(self):
        rates = []
        for _ in range(16):
            self.pass_through(1650, source=1, weight=60)
            rates += self.tick_and_expect((0, None), added=10)
        self.assertLess(r.TARGET / 61 / 5000, 100)
        unknown, known = r.TARGET / 61, (r.TARGET - 20 * 5000) / 60
        until = rates.index(rates[-1])
        self.assertGreater(until, 2 * r.WINDOW)
        for rate in rates[:until]:
            self.assertAlmostEqual(rate, unknown, delta=r.ROUNDING)
        for rate in rates[until:]:
            self.assertAlmostEqual(rate, known, delta=r.ROUNDING)


class WhoFallsSilentIsForgotten(CongestedTest):
    def runTest(self):
        self.congested()
        self.intervals(6, added=1700)
        self.tick_and_expect((0, r.TARGET), added=1700, ticks=0)


class WhoJoinsCountsAtOnce(CongestedTest):
    def runTest(self):
        self.congest()
        self.expect_limits((0, HALF))
        self.pass_through(100, source=2)
        self.congest()
        self.expect_limits((0, r.TARGET / 3))


class CalmAfterCongestionRatesRise(CongestedTest):
    """Below the relief for CALM intervals; then C/64 an interval, until all is free again."""

    def runTest(self):
        self.congest()
        self.expect_limits((0, HALF))
        (rate,) = [self.tick_and_expect((0, None), added=800) for _ in range(r.CALM - 1)][-1]
        steps = 0
        while rate < r.CAPACITY:
            rate += r.STEP
            steps += 1
            self.tick_and_expect((0, rate), added=800)
        self.assertGreater(steps, 5)
        self.tick_and_expect(ticks=0, added=800)
        self.expect_silence()


class CongestionWhileRatesRise(CongestedTest):
    def runTest(self):
        self.congest()
        self.expect_limits((0, HALF))
        for _ in range(r.CALM):
            self.tick()
            self.received(wire.PORT_LINECARD)
        self.congest()
        self.expect_limits((0, HALF))


class TheNextStationIsNotTold(CongestedTest):
    """The span ends with the farthest station that adds; alone, nobody is told."""

    def runTest(self):
        self.tick_and_expect((0, r.TARGET), added=1800, ticks=0)
        self.tick_for_message()
        self.expect_drop(DropReason.NO_SIGNALING)


class TheSpanIsTold(CongestedTest):
    """Station 1 is two hops away: the one between is told, and one more behind it."""

    def runTest(self):
        self.congest()
        (rate,) = self.expect_limits((0, HALF), ticks=1)
        for sequence in (1, 2):
            self.tick_for_message()
            self.expect_told((r.STATION, 1, 1, rate), sequence=sequence)
        self.expect_silence()


class TheOtherRingletIsToldToTheOtherSide(CongestedTest):
    def runTest(self):
        self.tick(port=r.WEST)
        self.expect_limits(port=r.WEST)
        parts = r.transit(900, source=5, destination=1, ringlet=1)
        self.send(r.EAST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(ttl=7, **parts[0]), *parts[1:])
        self.received(r.WEST)
        self.tick(added=900, port=r.WEST)
        (rate,) = self.expect_limits((0, HALF), ticks=1, port=r.WEST)
        self.tick_for_message(port=r.WEST)
        self.expect_told((r.STATION, 1, 1, rate), port=r.EAST, destination=r.NEXT, ringlet=1)


class OneTickOneMessage(CongestedTest):
    def runTest(self):
        self.congest()
        self.expect_limits((0, HALF))
        self.tick(repeat=2)
        self.expect_drop(DropReason.NO_SIGNALING)


class TicksOfNoRinglet(r.RingTest):
    def runTest(self):
        for port in (0, 255, 258, 65535):
            self.tick(port=port)
        self.expect_drop(DropReason.BAD_FIELD, 4)


class OtherCardMessages(r.RingTest):
    def runTest(self):
        for kind in (wire.LineCardKind.SLOT_TICK, wire.LineCardKind.FLOW_CONTROL, wire.LineCardKind.ADD_LIMITS, 15):
            self.send(wire.PORT_LINECARD, ethernet(wire.ETHERTYPE_LINECARD), r.linecard(kind), bytes(60))
        self.expect_drop(DropReason.BAD_VERSION, 4)


class WithoutParameters(r.RingTest):
    """A station that has not been told of its ringlets does nothing about them."""

    def configure(self):
        pass

    def runTest(self):
        self.tick()
        self.send(r.EAST, r.fairness((5, 2, 3, 1000)))
        self.expect_drop(DropReason.BAD_FIELD, 2)
