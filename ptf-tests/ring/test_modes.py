# SPDX-License-Identifier: Apache-2.0
"""The other ways to be fair: adaptive rates, IEEE 802.17's two modes, and the controller's."""

from slotwise import wire
from slotwise.wire import DropReason, RingKind, RingMode, RingPhase
from support import ring as r
from support.base import DEADLINE_S, ethernet, frame

RATE = 2_000_000


class Adaptive(r.TickedTest):
    """Half the way, each interval, to what is left over or told; upstream the same. Freely up again by C/64."""

    mode = RingMode.ADAPTIVE

    def runTest(self):
        self.congest()
        rate = (r.CAPACITY + r.TARGET - 9_000_000) / 2
        (rate,) = self.expect_limits((0, rate), ticks=1)
        self.tick_for_message()
        self.expect_told((r.STATION, 1, 1, rate))
        self.congest()
        rate = (rate + r.TARGET - 9_000_000) / 2
        (rate,) = self.expect_limits((0, rate))
        for _ in range(r.CALM):
            self.told((5, 2, 3, RATE))
            self.tick(added=100)
            rate = (rate + RATE) // 2
            self.expect_limits((0, rate), ticks=1)
        self.told()
        for _ in range(3):
            rate += r.STEP
            self.tick_and_expect((0, rate), added=100)


class AdaptiveWithoutCongestion(r.TickedTest):
    mode = RingMode.ADAPTIVE

    def runTest(self):
        for _ in range(3):
            self.tick_and_expect(added=100, ticks=0)


class RprAggressive(r.TickedTest):
    """The head tells what it adds itself, for all that others add."""

    mode = RingMode.RPR_AGGRESSIVE

    def runTest(self):
        self.congest(transit_bytes=1000, added=700)
        self.expect_limits((0, 7_000_000), ticks=1)
        self.told((5, 2, 3, RATE))
        self.expect_silence()  # it is told on at a tick only
        self.congest(transit_bytes=1000, added=700)
        self.expect_limits((0, RATE), ticks=1)
        self.tick_for_message()
        self.expect_told((5, 1, 2, RATE))


class RprConservative(r.TickedTest):
    """Equal parts at first; each WAIT intervals a 64th more or less."""

    mode = RingMode.RPR_CONSERVATIVE

    def runTest(self):
        self.congest()
        (rate,) = self.expect_limits((0, r.TARGET / 2))
        for _ in range(3):
            self.congest()
            self.expect_limits((0, rate))
            self.congest()
            rate -= rate >> 6
            self.expect_limits((0, rate))
        for _ in range(r.WAIT - 1):
            self.tick_and_expect((0, rate), added=300)
        rate += (r.CAPACITY - rate) >> 6
        self.tick_and_expect((0, rate), added=300)


class ReportedTest(r.TickedTest):
    def expect_report(
        self, phase, rates, link_rate, added_rate, told_rate, active, block=0, hol_delay_ns=0, local_ns=0
    ):
        sources = [wire.ReportSource(rate=rates.get(station, 0)) for station in range(16 * block, 16 * block + 16)]
        self.expect_packet_in(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_OPTICAL),
            r.ring(kind=RingKind.REPORT, ttl=1, destination=r.STATION, weight=self.weight),
            wire.RingReport(
                local_ns=local_ns,
                link_rate=link_rate,
                added_rate=added_rate,
                told_rate=told_rate,
                hol_delay_ns=hol_delay_ns,
                phase=phase,
                block=block,
                active=active,
            ),
            *sources,
        )


class Watched(ReportedTest):
    """In the other modes a report comes each `watch` intervals, before the message that there may be."""

    watch = 2

    def runTest(self):
        self.congest()
        self.expect_limits((0, r.TARGET / 2), ticks=2)
        self.tick(repeat=1)
        self.expect_report(
            RingPhase.CONGESTED,
            {1: wire.NO_LIMIT, r.STATION: wire.NO_LIMIT},
            18_000_000,
            9_000_000,
            r.TARGET // 2 - 1,
            2,
        )
        self.tick(repeat=2)
        self.expect_told((r.STATION, 1, 1, r.TARGET // 2 - 1))
        self.congest()
        self.expect_limits((0, r.TARGET / 2), ticks=1)
        self.tick(repeat=1)
        self.expect_told((r.STATION, 1, 1, r.TARGET // 2 - 1), sequence=2)
        self.expect_silence()


class WatchedWhenQuiet(ReportedTest):
    watch = 1

    def runTest(self):
        self.tick_and_expect(added=100, ticks=0)
        self.tick(repeat=1)
        self.expect_drop(DropReason.NO_SIGNALING)


class ControllerTest(ReportedTest):
    mode = RingMode.CONTROLLER

    def order(self, *entries, source=0, sequence=None, **fields):
        self.sequence += 1
        message = r.fairness(
            *entries, source=source, sequence=self.sequence if sequence is None else sequence, **fields
        )
        self.switch.packet_out(wire.PORT_SELF, message)
        self.packet_outs_handled(r.HOST_PORT)


class Reports(ControllerTest):
    """Only while there is congestion. Rates are those of whole windows: who has just begun has none yet."""

    def runTest(self):
        self.congest()
        self.expect_limits(ticks=1)
        told = r.TARGET // 2 - 1  # the quotient is rounded down
        self.tick_for_message(hol_delay_ns=77, local_ns=5)
        self.expect_report(
            RingPhase.CONGESTED,
            {1: wire.NO_LIMIT, r.STATION: wire.NO_LIMIT},
            18_000_000,
            9_000_000,
            told,
            2,
            hol_delay_ns=77,
            local_ns=5,
        )
        for _ in range(4):
            self.congest(transit_bytes=1000, added=800)
            self.expect_limits(ticks=1)
        self.tick_for_message()
        self.expect_report(RingPhase.CONGESTED, {1: 10_000_000, r.STATION: 8_000_000}, 18_000_000, 8_000_000, told, 2)
        self.expect_silence()


class NoReportWhenQuiet(ControllerTest):
    def runTest(self):
        self.tick_and_expect(added=100, ticks=0)
        self.tick_for_message()
        self.expect_drop(DropReason.NO_SIGNALING)


class NoReportOfStationsBeyondTheRing(ControllerTest):
    def runTest(self):
        self.congest()
        self.expect_limits(ticks=1)
        self.tick(repeat=2)
        self.expect_drop(DropReason.NO_SIGNALING)


class LimitedByTheController(ControllerTest):
    """Also on its own link; nothing is told on by the ring."""

    def runTest(self):
        self.order((r.STATION, 0, 5, 2 * RATE), (5, 2, 3, RATE))
        self.tick_and_expect((0, 2 * RATE), (2, RATE), ticks=0)
        self.order((5, 2, 3, RATE))
        self.tick_and_expect((2, RATE), ticks=0)


class BadOrders(ControllerTest):
    def runTest(self):
        self.order((5, 2, 3, RATE), destination=5)
        self.await_drops(DropReason.MISDIRECTED, 1)
        self.order((8, 2, 3, RATE))
        self.order((5, 2, 3, RATE), ringlet=2)
        self.order((r.STATION, 1, 3, RATE))
        self.await_drops(DropReason.BAD_FIELD, 3)
        wrong = bytearray(r.fairness((5, 2, 3, RATE), sequence=99))
        wrong[-1] ^= 1
        self.switch.packet_out(wire.PORT_SELF, bytes(wrong))
        self.await_drops(DropReason.BAD_CHECK, 1)
        self.order((5, 2, 3, RATE), sequence=0)
        self.await_drops(DropReason.STALE, 1)
        parts = r.transit(100, source=1)
        self.switch.packet_out(wire.PORT_SELF, frame(ethernet(wire.ETHERTYPE_OPTICAL), r.ring(**parts[0]), *parts[1:]))
        self.await_drops(DropReason.BAD_VERSION, 1)
        self.packet_outs_handled(r.HOST_PORT)
        self.tick_and_expect(ticks=0)


class MessagesOfStationsAreRefused(ControllerTest):
    def runTest(self):
        self.send(r.EAST, r.fairness((5, 2, 3, RATE)))
        self.expect_drop(DropReason.UNEXPECTED_PORT)
        self.tick_and_expect(ticks=0)


class Estimates:
    """Mixin of a ControllerTest: against real arithmetic, W1 = W2 = 8, in steps up and down."""

    shift = 3
    interval_bytes = 0

    def runTest(self):
        estimate = 0.0
        for size in [self.interval_bytes] * 40 + [self.interval_bytes // 2] * 5:
            self.tick(added=size, hol_delay_ns=2_000_000)  # waiting makes it congested, so that it reports
            self.received(wire.PORT_LINECARD)
            estimate += (size * 10_000 - estimate) / 8
        self.tick_for_message()
        _, report = self.switch.packet_in(DEADLINE_S)
        found = wire.RingReport.decode(report[wire.Ethernet.SIZE + wire.Ring.SIZE + wire.Check.SIZE :]).link_rate
        self.assertAlmostEqual(found / estimate, 1, delta=1e-4)


class EstimatesOneMegabitASecond(Estimates, ControllerTest):
    interval_bytes = 13


class EstimatesTenMegabitsASecond(Estimates, ControllerTest):
    interval_bytes = 125


class EstimatesTheLineRate(Estimates, ControllerTest):
    interval_bytes = 1875
