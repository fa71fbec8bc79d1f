# SPDX-License-Identifier: Apache-2.0
"""Macroflows: a period's tick becomes a probe, a probe comes back as a reply, and a reply becomes a rate."""

from slotwise import wire
from slotwise.wire import DropReason, FlowOp, IntervalTimer, LabelKind, LineCardKind
from support import edge as e
from support import labels
from support.base import ethernet, frame
from support.hostile import Numbers

QUEUE, OTHER_QUEUE, UNKNOWN_QUEUE = 5, 6, 7
CLASS = 3
WAVELENGTH = 1
FLOOR = 30_000  # byte/s
PERIODS = 20  # a second
LARGEST_RATE = (1 << 32) - 1
SATISFIED = wire.PROBE_SATISFIED
START_NS = 1_000_000_000


class MacroflowTest(labels.LabelTest):
    tells_satisfied = 0
    shift = 0
    periods_q8 = PERIODS << 8

    def setUp(self):
        super().setUp()
        self.set_fibres()
        for queue in (QUEUE, OTHER_QUEUE):
            self.macroflow(queue, e.REMOTE)
        self.sequence = 0
        self.total = 0

    def macroflow(self, queue, edge, port=labels.PROBES):
        self.switch.insert(
            "macroflow",
            {"queue": queue},
            "set_macroflow",
            dst_edge=edge,
            traffic_class=CLASS,
            wavelength=WAVELENGTH,
            port=port,
            floor=FLOOR,
            periods_q8=self.periods_q8,
            tells_satisfied=self.tells_satisfied,
            shift=self.shift,
        )

    def interval_tick(self, arrived, backlog=0, queue=QUEUE, timer=IntervalTimer.CONTROL, least=0):
        self.from_card(
            LineCardKind.INTERVAL_TICK,
            wire.IntervalTick(timer=timer, local_ns=START_NS, least_backlog_bytes=least),
            wire.QueueReport(queue=queue, arrived_bytes=arrived % (1 << 32), backlog_bytes=backlog),
        )

    def expect_probe(self, sent, sequence, queue=QUEUE, port=labels.PROBES, feedback=wire.NO_FEEDBACK, flags=0):
        self.expect(
            port,
            ethernet(wire.ETHERTYPE_OPTICAL, src=e.MAC),
            self.about(LabelKind.PROBE, self.edge, e.REMOTE),
            self.probe(sent, sequence, queue, feedback, flags),
        )

    def about(self, kind, src, dst, hops=labels.HOPS, **fields):
        return wire.Label(
            **{
                **dict(
                    version=wire.LABEL_VERSION,
                    kind=kind,
                    traffic_class=CLASS,
                    src_edge=src,
                    dst_edge=dst,
                    wavelength=WAVELENGTH,
                    hops_left=hops,
                ),
                **fields,
            }
        )

    def probe(self, sent, sequence, queue=QUEUE, feedback=wire.NO_FEEDBACK, flags=0):
        return wire.Probe(
            sequence=sequence,
            sent_bytes=sent,
            feedback=feedback % (1 << 32),
            queue=queue,
            flags=flags,
            sent_ns=START_NS,
        )

    def period(self, sent, flags=0):
        """A period in which the macroflow has sent so much."""
        self.total += sent
        self.sequence += 1
        self.interval_tick(self.total)
        self.expect_probe(sent, self.sequence, flags=flags)

    def reply(
        self, sent, feedback, sequence=None, queue=QUEUE, port=labels.PROBES, dst=e.SLAVE, src=e.REMOTE, **fields
    ):
        self.send(
            port,
            ethernet(wire.ETHERTYPE_OPTICAL),
            self.about(LabelKind.REPLY, src, dst, 4, **fields),
            self.probe(sent, self.sequence if sequence is None else sequence, queue, feedback),
        )

    def expect_rate(self, rate, queue=QUEUE, port=e.FIBRE + WAVELENGTH):
        self.expect_at_card(
            LineCardKind.FLOW_CONTROL, wire.FlowControl(queue=queue, op=FlowOp.SET_RATE, value=8 * rate), port=port
        )

    def gets(self, sent, feedback, rate):
        """A period, and the network's answer."""
        self.period(sent)
        self.reply(sent, feedback)
        self.expect_rate(rate)


class ATickBecomesAProbe(MacroflowTest):
    """It says what has left the queue since the last one; sums go round."""

    def runTest(self):
        self.interval_tick(5000, backlog=2000)
        self.expect_probe(3000, 1)
        self.interval_tick(5000, backlog=500)
        self.expect_probe(1500, 2)
        self.interval_tick(1 << 31)
        self.expect_probe((1 << 31) - 4500, 3)
        self.interval_tick(1 << 32)
        self.await_drops(DropReason.BAD_FIELD, 1)
        self.interval_tick((1 << 32) + 100, backlog=40)
        self.expect_probe(60, 4)
        self.interval_tick(7, queue=OTHER_QUEUE)
        self.expect_probe(7, 1, OTHER_QUEUE)
        self.expect_silence()


class ACardThatBeginsAnew(MacroflowTest):
    """Less has left the queue than before: one period has no probe."""

    def runTest(self):
        self.interval_tick(5000)
        self.expect_probe(5000, 1)
        self.interval_tick(100)
        self.expect_drop(DropReason.BAD_FIELD)
        self.interval_tick(300)
        self.expect_probe(200, 2)


class ByTheSecondFibre(MacroflowTest):
    """Its probes go by their wavelength, and the rate is for its wavelength's card."""

    def runTest(self):
        self.macroflow(UNKNOWN_QUEUE, e.REMOTE, labels.SECOND_FIBRE + labels.WAVELENGTHS)
        self.interval_tick(1000, queue=UNKNOWN_QUEUE)
        self.expect_probe(1000, 1, UNKNOWN_QUEUE, labels.SECOND_FIBRE + labels.WAVELENGTHS)
        self.reply(1000, 0, 1, UNKNOWN_QUEUE)
        self.expect_rate(FLOOR, UNKNOWN_QUEUE, labels.SECOND_FIBRE + WAVELENGTH)


class AProbeComesBack(MacroflowTest):
    """As it came, edges exchanged, with all hops; whatever it says and whoever sends it, by the fibre that it came by."""

    def runTest(self):
        for port in (labels.PROBES, labels.SECOND_FIBRE + labels.WAVELENGTHS):
            content = self.probe((1 << 32) - 1, 77, queue=0xFFFF, feedback=-5, flags=0xFFFF)
            self.send(port, ethernet(wire.ETHERTYPE_OPTICAL), self.about(LabelKind.PROBE, 999, self.edge, 1), content)
            self.expect(
                port, ethernet(wire.ETHERTYPE_OPTICAL, src=e.MAC), self.about(LabelKind.REPLY, self.edge, 999), content
            )


class AReplyBecomesARate(MacroflowTest):
    """allowed = max(floor, min(allowed, twice what was sent) + feedback)."""

    def runTest(self):
        self.gets(0, 100_000, 100_000)  # the floor, but nothing sent: 0
        self.gets(5000, 20_000, 120_000)  # 100,000 byte/s sent
        self.gets(1500, 7, 60_007)  # half of that, twice
        self.gets(3000, -10_000, 50_007)
        self.gets(3000, -100_000, FLOOR)
        self.gets(3000, -(1 << 31), FLOOR)
        self.gets(3000, (1 << 31) - 1, FLOOR + (1 << 31) - 1)
        self.gets((1 << 31) - 1, (1 << 31) - 1, LARGEST_RATE)
        self.expect_silence()


class RatesAreThoseOfTheFormula(MacroflowTest):
    """Random walks, in whole numbers."""

    periods_q8 = (PERIODS << 8) + 77

    def runTest(self):
        numbers = Numbers("rates")
        allowed = FLOOR
        for _ in range(60):
            sent = numbers.below(1 << numbers.below(24))
            feedback = numbers.below(1 << 1 + numbers.below(28))
            feedback = feedback if numbers.below(2) else -feedback
            allowed = min(max(min(allowed, sent * self.periods_q8 >> 7) + feedback, FLOOR), LARGEST_RATE)
            self.gets(sent, feedback, allowed)


class TheSatisfiedSaySo(MacroflowTest):
    """Who sends less than 7/8 of what it is allowed, and has had nothing waiting at some moment of the period."""

    tells_satisfied = 1

    def gets(self, sent, feedback, rate, flags=0):
        self.period(sent, flags)
        self.reply(sent, feedback)
        self.expect_rate(rate)

    def runTest(self):
        enough = FLOOR * 7 // 8 // PERIODS
        self.gets(enough - 1, 0, FLOOR, SATISFIED)
        self.gets(enough + 1, 0, FLOOR)
        self.gets(5000, 130_000, 160_000)
        self.gets(7000, 0, 160_000)
        self.gets(6999, 0, 160_000, SATISFIED)
        self.waits(0, 1)
        self.waits(0, (1 << 32) - 1)
        self.gets(0, 0, FLOOR, SATISFIED)

    def waits(self, sent, least):
        """A period in which so little has waited at least."""
        self.total += sent
        self.sequence += 1
        self.interval_tick(self.total + least, backlog=least, least=least)
        self.expect_probe(sent, self.sequence)


class WhereATrainTakesLongerThanAPeriod(MacroflowTest):
    """What it has sent of late is a mean, and while a train waits what it is allowed adds up."""

    tells_satisfied = 1
    shift = 3

    def runTest(self):
        mean = 0
        allowed = FLOOR
        for sent, backlog, feedback in (
            (0, 20_000, 100_000),
            (0, 20_000, 100_000),
            (0, 20_000, 50_000),
            (20_000, 0, 0),
            (0, 0, 0),
            (0, 0, 0),
            (800, 0, 0),
            (0, 1, 10_000),
            (800, 1, -20_000),
        ):
            mean = mean - (mean >> 3) + (sent >> 3)
            used = max(mean, sent)
            self.total += sent
            self.sequence += 1
            self.interval_tick(self.total + backlog, backlog=backlog, least=backlog)
            satisfied = not backlog and used * self.periods_q8 >> 5 < 7 * allowed
            self.expect_probe(sent, self.sequence, flags=SATISFIED if satisfied else 0)
            self.reply(sent, feedback)
            most = allowed if backlog else min(allowed, used * self.periods_q8 >> 7)
            allowed = max(most + feedback, FLOOR)
            self.expect_rate(allowed)
        self.expect_silence()


class RepliesThatAreNotTaken(MacroflowTest):
    """Each is dropped for its reason, and the one that is meant is taken after them all as if they had not been."""

    def refuse(self, reason, *replies):
        before = self.drops(reason)
        for count, fields in enumerate(replies, 1):
            self.reply(**{**dict(sent=3000, feedback=1 << 20), **fields})
            self.await_drops(reason, before + count)
        self.assertEqual(self.drops(reason), before + len(replies))

    def runTest(self):
        self.macroflow(8, edge=9)
        self.refuse(DropReason.STALE, {"sent": 0, "sequence": 0})
        self.gets(5000, 1_000_000, 1_000_000 + FLOOR)
        self.refuse(DropReason.STALE, {"sent": 5000})
        self.period(3000)
        self.refuse(DropReason.STALE, {"sequence": 1}, {"sequence": 3}, {"sequence": 0xFFFFFFFF})
        self.refuse(
            DropReason.BAD_FIELD,
            {"sent": 2999},
            {"sent": 0xFFFFFFFF},
            {"wavelength": 0},
            {"wavelength": labels.WAVELENGTHS},
            {"train": 1},
            {"length": 1},
            {"packets": 1},
            {"src": self.edge},
        )
        self.refuse(DropReason.NOT_A_MEMBER, {"src": 9}, {"queue": 8}, {"traffic_class": CLASS + 1})
        self.refuse(DropReason.MISDIRECTED, {"dst": e.REMOTE})
        self.refuse(DropReason.NO_VOQ, {"queue": UNKNOWN_QUEUE})
        self.refuse(DropReason.BAD_QUEUE, {"queue": wire.SIGNALING_QUEUE}, {"queue": 0xFFFF})
        self.refuse(DropReason.UNEXPECTED_PORT, {"port": e.FIBRE}, {"port": labels.SECOND_WAVELENGTH})
        self.refuse(DropReason.STALE, {"queue": OTHER_QUEUE, "sequence": 0, "sent": 0})
        self.reply(3000, 5)
        self.expect_rate(120_005)
        self.expect_silence()


class ProbesThatAreNotAnswered(MacroflowTest):
    def refuse(self, reason, *labels_of_probes, port=labels.PROBES):
        before = self.drops(reason)
        for count, fields in enumerate(labels_of_probes, 1):
            label = self.about(**{**dict(kind=LabelKind.PROBE, src=e.REMOTE, dst=self.edge), **fields})
            self.send(port, ethernet(wire.ETHERTYPE_OPTICAL), label, self.probe(100, 1))
            self.await_drops(reason, before + count)
        self.assertEqual(self.drops(reason), before + len(labels_of_probes))

    def runTest(self):
        self.refuse(DropReason.MISDIRECTED, {"dst": e.REMOTE})
        self.refuse(
            DropReason.BAD_FIELD,
            {"src": self.edge},
            {"wavelength": labels.WAVELENGTHS},
            {"wavelength": 255},
            {"train": 1},
            {"length": 1},
            {"packets": 1},
        )
        self.refuse(DropReason.UNEXPECTED_PORT, {}, port=e.FIBRE)
        self.refuse(DropReason.UNEXPECTED_PORT, {}, port=labels.SECOND_FIBRE)
        self.send(
            e.HOST_PORT,
            ethernet(wire.ETHERTYPE_OPTICAL),
            self.about(LabelKind.PROBE, e.REMOTE, self.edge),
            self.probe(100, 1),
        )
        self.await_drops(DropReason.UNEXPECTED_PORT, 3)
        self.refuse(DropReason.BAD_VERSION, {"version": 4}, {"kind": 3})
        cut = frame(self.about(LabelKind.PROBE, e.REMOTE, self.edge), self.probe(100, 1))[:-1]
        self.send(labels.PROBES, ethernet(wire.ETHERTYPE_OPTICAL), cut)
        self.await_drops(DropReason.TRUNCATED, 1)
        self.assertEqual(self.drops(DropReason.TRUNCATED), 1)
        self.expect_silence()


class WithoutAWavelengthForProbes(labels.LabelTest):
    def runTest(self):
        for kind in (LabelKind.PROBE, LabelKind.REPLY):
            self.send(
                labels.PROBES,
                ethernet(wire.ETHERTYPE_OPTICAL),
                wire.Label(version=wire.LABEL_VERSION, kind=kind, src_edge=e.REMOTE, dst_edge=self.edge),
                wire.Probe(),
            )
        self.expect_drop(DropReason.BAD_VERSION, 2)


class TicksOfNoMacroflow(MacroflowTest):
    def runTest(self):
        self.interval_tick(100, queue=UNKNOWN_QUEUE)
        self.interval_tick(100, timer=IntervalTimer.QUEUE)
        self.expect_drop(DropReason.NO_SIGNALING, 2)
        for queue in (wire.SIGNALING_QUEUE, 0xFFFF):
            self.interval_tick(100, queue=queue)
        self.await_drops(DropReason.BAD_QUEUE, 2)
        self.assertEqual(self.drops(DropReason.BAD_QUEUE), 2)
        self.expect_silence()


MS = 1_000_000
PERIOD_NS = 50 * MS
ALPHA_Q16, BETA_Q16, GAMMA_Q16 = 13107, 3670, 6554
OUTPUT = e.FIBRE + WAVELENGTH  # its number is that of its agent
CAPACITY = 125_000_000  # byte/s
RATE_PER_BYTE = 16


class TheEdgesOwnAgent(MacroflowTest):
    """Its output's agent is asked first; what leaves is what its macroflows say that they have sent."""

    def setUp(self):
        super().setUp()
        self.switch.set_default(
            "xcp_params",
            "set_xcp_params",
            alpha_q16=ALPHA_Q16,
            beta_q16=BETA_Q16,
            gamma_q16=GAMMA_Q16,
            initial_rtt_ns=PERIOD_NS,
            min_control_ns=PERIOD_NS,
            min_queue_ns=PERIOD_NS,
            quantum_ns=0,
        )
        self.switch.insert(
            "xcp_output", {"queue": OUTPUT}, "fixed_capacity", throughput=CAPACITY * RATE_PER_BYTE, overhead=0
        )
        self.local_ns = START_NS
        self.totals = {QUEUE: 0, OTHER_QUEUE: 0}
        self.sequences = {QUEUE: 0, OTHER_QUEUE: 0}

    def interval(self, queue_bytes=0):
        self.local_ns += PERIOD_NS
        for timer, op in (
            (IntervalTimer.QUEUE, FlowOp.SET_QUEUE_TIMER),
            (IntervalTimer.CONTROL, FlowOp.SET_CONTROL_TIMER),
        ):
            self.from_card(
                LineCardKind.INTERVAL_TICK,
                wire.IntervalTick(timer=timer, local_ns=self.local_ns, least_backlog_bytes=queue_bytes),
                wire.QueueReport(queue=OUTPUT),
                port=OUTPUT,
            )
            self.expect_at_card(
                LineCardKind.FLOW_CONTROL, wire.FlowControl(queue=OUTPUT, op=op, value=PERIOD_NS), port=OUTPUT
            )

    def told(self, sent, queue=QUEUE):
        """The feedback with which the macroflow's probe leaves."""
        self.totals[queue] += sent
        self.sequences[queue] += 1
        self.interval_tick(self.totals[queue], queue=queue)
        found = wire.Probe.decode(self.received(labels.PROBES)[wire.Ethernet.SIZE + wire.Label.SIZE :])
        self.assertEqual((found.sequence, found.sent_bytes, found.queue), (self.sequences[queue], sent, queue))
        return found.feedback - (1 << 32 if found.feedback >> 31 else 0)

    def expect_told(self, exact, sent, queue=QUEUE):
        found = self.told(sent, queue)
        self.assertLessEqual(abs(found - exact), 2 + abs(exact) / (1 << 26), f"found {found}, exact {exact}")

    def runTest(self):
        alpha, gamma = ALPHA_Q16 / 65536, GAMMA_Q16 / 65536
        self.interval()
        self.assertEqual(self.told(1_000_000), 0)
        self.assertEqual(self.told(3_000_000, OTHER_QUEUE), 0)
        self.interval()
        # 4 MB in a period: 80 of 125 MB/s.
        load = 80_000_000
        spare = alpha * (CAPACITY - load)
        shuffled = max(0, gamma * load - spare)
        self.expect_told((shuffled + spare) / 2 - shuffled / 4, 1_000_000)
        self.expect_told((shuffled + spare) / 2 - shuffled * 2, 8_000_000, OTHER_QUEUE)
        self.interval()
        # 9 MB in a period: too much, and all of it is taken back by rate.
        load = 180_000_000
        excess = alpha * (load - CAPACITY)
        shuffled = max(0, gamma * load - excess)
        self.expect_told(shuffled / 2 - (shuffled + excess) / 9, 1_000_000)
