# SPDX-License-Identifier: Apache-2.0
"""Edges that share: what an edge allows those that it sends, what it grants those that it takes, by GTP's local rule."""

from test_macroflows import CLASS, FLOOR, PERIODS, QUEUE, SATISFIED, START_NS, UNKNOWN_QUEUE, MacroflowTest

from slotwise import wire
from slotwise.wire import DropReason, FlowOp, IntervalTimer, LabelKind, LineCardKind
from support import edge as e
from support import labels
from support.base import ethernet

GRANT = wire.PROBE_GRANT
MS = 1_000_000
PERIOD_NS = 50 * MS
THIRD_QUEUE = 8
CLASSES = 4
EDGES = 12
CAPACITY = 1_000_000  # bytes a period
ALPHA_Q16, BETA_Q16 = 9830, 13107
FIRST_STEP = (CAPACITY << 16) * ALPHA_Q16 >> 16  # in 1/65536 byte
ANYTHING = 0xFFFFFFFF
WINDOW = wire.PROBE_WINDOW


def rate(bytes_q16):
    """Byte/s of what a period has, as P4 reckons it; within 2 of real arithmetic."""
    return bytes_q16 * PERIODS >> 16


class ShareTest(MacroflowTest):
    capped = 0

    def setUp(self):
        super().setUp()
        self.switch.set_default(
            "share_params",
            "set_share",
            sessions=EDGES * CLASSES,
            classes=CLASSES,
            capacity=CAPACITY,
            alpha_q16=ALPHA_Q16,
            beta_q16=BETA_Q16,
            capped=self.capped,
            periods_q16=PERIODS << 16,
            hold_ns=3 * PERIOD_NS,
        )
        self.local_ns = START_NS
        self.macroflow(THIRD_QUEUE, e.REMOTE + 1)
        self.totals = {QUEUE: 0, THIRD_QUEUE: 0}
        self.asked = {QUEUE: 0, THIRD_QUEUE: 0}
        self.told = {}

    def asks(self, sent, queue=QUEUE, edge=e.REMOTE):
        """A period of a macroflow that has sent so much; its probe leaves."""
        self.totals[queue] += sent
        self.asked[queue] += 1
        self.tick(queue)
        self.expect(
            labels.PROBES,
            ethernet(wire.ETHERTYPE_OPTICAL, src=e.MAC),
            self.about(LabelKind.PROBE, self.edge, edge),
            self.word(sent, self.asked[queue], queue, wire.NO_FEEDBACK, self.local_ns),
        )

    def tick(self, queue=QUEUE):
        self.from_card(
            LineCardKind.INTERVAL_TICK,
            wire.IntervalTick(timer=IntervalTimer.CONTROL, local_ns=self.local_ns),
            wire.QueueReport(queue=queue, arrived_bytes=self.totals[queue]),
        )

    def word(self, sent, sequence, queue, feedback, sent_ns=START_NS, flags=GRANT):
        return wire.Probe(
            sequence=sequence, sent_bytes=sent, feedback=feedback, flags=flags, queue=queue, sent_ns=sent_ns
        )

    def granted(self, sent, feedback, queue=QUEUE, edge=e.REMOTE, **fields):
        """The far edge's reply to the last probe."""
        self.send(
            labels.PROBES,
            ethernet(wire.ETHERTYPE_OPTICAL),
            self.about(LabelKind.REPLY, edge, self.edge, 4),
            self.word(sent, self.asked[queue], queue, feedback, **fields),
        )

    def expect_about(self, exact, found):
        self.assertLessEqual(abs(found - exact), 2, f"found {found}, exact {exact}")

    def rate_told(self):
        """What the card is told, byte/s."""
        found = self.received(wire.PORT_LINECARD)[wire.Ethernet.SIZE + wire.Linecard.SIZE :]
        control = wire.FlowControl.decode(found)
        self.assertEqual(control.op, FlowOp.SET_RATE)
        return control.value // 8

    def allows(self, exact, sent, queue=QUEUE, edge=e.REMOTE):
        """A macroflow of this edge, to which the far edge grants anything."""
        self.asks(sent, queue, edge)
        self.granted(sent, ANYTHING, queue, edge)
        self.expect_about(exact, self.rate_told())

    def probes(self, sent, src=e.REMOTE, sequence=None, traffic_class=CLASS, flags=GRANT, dst=None):
        """A probe of a macroflow that this edge takes."""
        if sequence is None:
            sequence = self.told[src] = self.told.get(src, 0) + 1
        self.send(
            labels.PROBES,
            ethernet(wire.ETHERTYPE_OPTICAL),
            self.about(LabelKind.PROBE, src, self.edge if dst is None else dst, 4, traffic_class=traffic_class),
            self.word(sent, sequence, 77, wire.NO_FEEDBACK, flags=flags),
        )

    def grant_told(self):
        content = self.received(labels.PROBES)
        label = wire.Label.decode(content[wire.Ethernet.SIZE :])
        self.assertEqual((label.kind, label.src_edge, label.hops_left), (LabelKind.REPLY, self.edge, labels.HOPS))
        found = wire.Probe.decode(content[wire.Ethernet.SIZE + wire.Label.SIZE :])
        self.assertEqual((found.flags, found.queue), (GRANT, 77))
        return found.feedback

    def grants(self, exact, sent, src=e.REMOTE):
        self.probes(sent, src)
        self.expect_about(exact, self.grant_told())


class ASourceAllowsWhatTheRuleSays(ShareTest):
    """Alone: alpha of what is missing, then at least alpha times beta, then all of it."""

    def runTest(self):
        self.allows(rate(FIRST_STEP), 0)
        step = (CAPACITY - 200_000) * ALPHA_Q16 / 65536
        self.allows((200_000 + step) * PERIODS, 200_000)
        least = CAPACITY * ALPHA_Q16 / 65536 * BETA_Q16 / 65536
        self.allows((CAPACITY - 1 + least) * PERIODS, CAPACITY - 1)
        self.allows(CAPACITY * PERIODS, CAPACITY)
        self.allows(CAPACITY * PERIODS, 3 * CAPACITY)
        self.expect_silence()


class CappedNoneGoesBeyondItsTarget(ShareTest):
    capped = 1

    def runTest(self):
        self.allows(CAPACITY * PERIODS, CAPACITY - 1)


class TwoOfASource(ShareTest):
    """What one does not use the other one has; both at the same get halves."""

    def runTest(self):
        self.allows(rate(FIRST_STEP), 0)
        self.asks(100_000)
        self.allows(CAPACITY * PERIODS - 100_000 * PERIODS, 900_000, THIRD_QUEUE, e.REMOTE + 1)
        self.asks(700_000)
        self.allows(CAPACITY // 2 * PERIODS, 800_000, THIRD_QUEUE, e.REMOTE + 1)


class TheSmallerGrantCounts(ShareTest):
    """That of the far edge or the own one; never less than the floor."""

    def runTest(self):
        self.asks(CAPACITY)
        self.granted(CAPACITY, 123_456)
        self.expect_about(123_456, self.rate_told())
        self.asks(100)
        self.granted(100, FLOOR - 1)
        self.expect_about(FLOOR, self.rate_told())


class ASinkGrantsWhatTheRuleSays(ShareTest):
    """It counts who has told it something; what its own macroflows send is apart."""

    def runTest(self):
        self.allows(CAPACITY * PERIODS, 3 * CAPACITY)
        self.grants(rate(FIRST_STEP), 0)
        self.grants(CAPACITY * PERIODS, CAPACITY)
        self.grants(CAPACITY // 2 * PERIODS, 700_000, src=9)
        self.grants(CAPACITY // 2 * PERIODS, 600_000)
        self.grants((300_000 + 200_000 * ALPHA_Q16 / 65536) * PERIODS, 300_000)
        self.grants(700_000 * PERIODS, 750_000, src=9)


class WhoIsSilentHasLeft(ShareTest):
    """Time is that of the card's ticks."""

    def runTest(self):
        self.asks(0)
        self.grants(CAPACITY * PERIODS, CAPACITY)
        self.grants(CAPACITY // 2 * PERIODS, CAPACITY, src=9)
        self.local_ns += 3 * PERIOD_NS
        self.asks(0, THIRD_QUEUE, e.REMOTE + 1)
        self.grants(CAPACITY // 2 * PERIODS, CAPACITY, src=9)
        self.local_ns += 1
        self.asks(0)
        self.grants(CAPACITY * PERIODS, CAPACITY, src=9)


class GrantsThatAreNotTaken(ShareTest):
    """Each is dropped for its reason, and the one that is meant is taken after them all as if they had not been."""

    def refuse(self, reason, count, *replies):
        before = self.drops(reason)
        for number, fields in enumerate(replies, 1):
            self.send(
                labels.PROBES,
                ethernet(wire.ETHERTYPE_OPTICAL),
                self.about(LabelKind.REPLY, **{**dict(src=e.REMOTE, dst=self.edge, hops=4), **fields.get("label", {})}),
                self.word(**{**dict(sent=3000, sequence=1, queue=QUEUE, feedback=7), **fields.get("probe", {})}),
            )
            self.await_drops(reason, before + number)
        self.assertEqual((self.drops(reason), len(replies)), (before + count, count))

    def runTest(self):
        self.asks(3000)
        self.refuse(
            DropReason.BAD_FIELD, 3, {"probe": {"flags": 0}}, {"probe": {"flags": SATISFIED}}, {"probe": {"sent": 2999}}
        )
        self.refuse(DropReason.STALE, 2, {"probe": {"sequence": 0}}, {"probe": {"sequence": 2}})
        self.refuse(DropReason.NOT_A_MEMBER, 2, {"label": {"src": 9}}, {"label": {"traffic_class": CLASS + 1}})
        self.refuse(DropReason.NO_VOQ, 1, {"probe": {"queue": UNKNOWN_QUEUE}})
        self.granted(3000, 99_999)
        self.expect_about(99_999, self.rate_told())
        self.refuse(DropReason.STALE, 1, {})
        self.expect_silence()


class ProbesThatAreNotGranted(ShareTest):
    """Strangers, what has been said already, and what cannot be: no reply, no part in what is shared."""

    def refuse(self, reason, *probes):
        before = self.drops(reason)
        for count, fields in enumerate(probes, 1):
            self.probes(**{**dict(sent=CAPACITY, sequence=1000), **fields})
            self.await_drops(reason, before + count)
        self.assertEqual(self.drops(reason), before + len(probes))

    def runTest(self):
        self.grants(rate(FIRST_STEP), 0)
        self.refuse(
            DropReason.NOT_A_MEMBER,
            {"src": EDGES},
            {"src": 0xFFFF},
            {"traffic_class": CLASSES},
            {"traffic_class": 255},
            {"src": 0x4000, "traffic_class": 0},
        )
        self.refuse(DropReason.BAD_FIELD, {"sent": 1 << 31}, {"sent": 0xFFFFFFFF}, {"src": self.edge})
        self.refuse(DropReason.STALE, {"sequence": 1}, {"sequence": 0}, {"sequence": 2 - WINDOW})
        self.grants(CAPACITY * PERIODS, CAPACITY)
        self.expect_silence()

    def word(self, sent, sequence, *rest, **fields):
        return super().word(sent, sequence % (1 << 32), *rest, **fields)


class AnEdgeThatBeginsAnewIsHeard(ShareTest):
    """Its numbers begin again, far from those before."""

    def runTest(self):
        self.told[e.REMOTE] = 5000
        self.grants(rate(FIRST_STEP), 0)
        self.told[e.REMOTE] = 0
        self.grants(CAPACITY * PERIODS, CAPACITY)


class APlainProbeComesBack(ShareTest):
    """Who does not ask for a grant gets none, and has no part."""

    def runTest(self):
        self.probes(5, flags=SATISFIED)
        found = wire.Probe.decode(self.received(labels.PROBES)[wire.Ethernet.SIZE + wire.Label.SIZE :])
        self.assertEqual((found.flags, found.feedback), (SATISFIED, wire.NO_FEEDBACK))
        self.grants(CAPACITY * PERIODS, CAPACITY)


class AnEdgeThatDoesNotShareGrantsAnything(MacroflowTest):
    """It sends the probe back as it came."""

    def runTest(self):
        content = wire.Probe(sequence=5, sent_bytes=1, feedback=wire.NO_FEEDBACK, flags=GRANT, queue=3, sent_ns=9)
        self.send(
            labels.PROBES, ethernet(wire.ETHERTYPE_OPTICAL), self.about(LabelKind.PROBE, 999, self.edge, 1), content
        )
        self.expect(
            labels.PROBES,
            ethernet(wire.ETHERTYPE_OPTICAL, src=e.MAC),
            self.about(LabelKind.REPLY, self.edge, 999),
            content,
        )


class AGrantDoesNotLastForEver(ShareTest):
    """The third period without a reply halves the rate; then it asks again, and so on down to the floor."""

    def runTest(self):
        self.asks(0)
        self.granted(0, 8 * FLOOR)
        self.expect_about(8 * FLOOR, self.rate_told())
        self.asks(0)
        for _ in range(2):
            self.asks(0)
        for expected in (4 * FLOOR, 2 * FLOOR, FLOOR, FLOOR):
            self.tick()
            self.expect_about(expected, self.rate_told())
            self.asks(0)
        self.granted(0, 3 * FLOOR)
        self.expect_about(3 * FLOOR, self.rate_told())
        self.asks(0)
        self.expect_silence()
