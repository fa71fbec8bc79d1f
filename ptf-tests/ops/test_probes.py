# SPDX-License-Identifier: Apache-2.0
"""Probes and XCP's agents: what an output allows the macroflows that go by it, held against the formula in real arithmetic."""

from collections import Counter

from slotwise import wire
from slotwise.wire import DropReason, FlowOp, IntervalTimer, LabelKind, LineCardKind, TrainPart
from support import ops as o
from support.base import ethernet, frame
from support.hostile import Numbers

MS = 1_000_000
PERIOD_NS = 50 * MS
START_NS = 1_000_000 * MS
ALPHA_Q16, BETA_Q16, GAMMA_Q16 = 13107, 3670, 6554
ALPHA, BETA, GAMMA = (q16 / 65536 for q16 in (ALPHA_Q16, BETA_Q16, GAMMA_Q16))
RATE_PER_BYTE = 16  # of a target's unit
TARGET = 125_000_000  # 1 Gb/s in byte/s
PER_SECOND = 20  # periods
IN_PROBES, OUT_PROBES = o.probe_port(0), o.probe_port(1)
SATISFIED = wire.PROBE_SATISFIED
FEEDBACK_AT = wire.Ethernet.SIZE + wire.Label.SIZE


def feedback(target, arrived, sent, probes, queue=0, satisfied=False, spared=0):
    """What a macroflow that has sent so many bytes may change its rate by, byte/s; the satisfied have sent `spared` of what has come."""
    y = arrived * PER_SECOND
    phi = ALPHA * (target - y) - BETA * queue * PER_SECOND
    h = max(0, GAMMA * y - abs(phi))
    too_much = sent / arrived * max(0, -phi) if arrived else 0
    if satisfied:
        return -too_much
    return (h + max(0, phi)) / probes - (sent / (arrived - spared) * h if arrived else 0) - too_much


class AgentTest(o.OpsTest):
    target = TARGET

    def setUp(self):
        super().setUp()
        self.local_ns = Counter()
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
        self.agent(o.OUT, self.target)

    def agent(self, port, target):
        self.switch.insert("agent", {"port": port}, "set_target", throughput=target * RATE_PER_BYTE)

    def tick(self, queue_bytes=0, port=o.OUT):
        """An interval of `port` has ended, in which so much has always waited, and the card has been told when the next one does."""
        self.local_ns[port] += PERIOD_NS
        self.timer(IntervalTimer.QUEUE, FlowOp.SET_QUEUE_TIMER, port, queue_bytes)
        self.timer(IntervalTimer.CONTROL, FlowOp.SET_CONTROL_TIMER, port)

    def timer(self, timer, op, port, queue_bytes=0):
        self.send(
            wire.PORT_LINECARD,
            o.interval_tick(timer, port, START_NS + self.local_ns[port], least_backlog_bytes=queue_bytes),
        )
        self.expect(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=LineCardKind.FLOW_CONTROL, port=port),
            wire.FlowControl(queue=port, op=op, value=PERIOD_NS),
        )

    def arrive(self, length, port=o.OUT, came_by=o.IN, **fields):
        """A train of so many bytes, of which one frame is enough."""
        self.send(came_by, o.train(part=TrainPart.FIRST, packets=2, length=length, **fields))
        self.received(port)

    def told(self, out=OUT_PROBES, came_by=IN_PROBES, **fields):
        """The feedback with which a probe leaves; nothing else has changed but the hops."""
        self.send(came_by, o.probe(**fields))
        found = self.received(out)
        answer = wire.Probe.decode(found[FEEDBACK_AT:]).feedback
        self.assertEqual(found.hex(), o.probe(**{**fields, "hops_left": o.HOPS - 1, "feedback": answer}).hex())
        return answer - (1 << 32 if answer >> 31 else 0)

    def interval(self, arrived, probes, queue_bytes=0, spared=()):
        """The agent's first interval is over, in which so much has come, `spared` of it of macroflows that are satisfied."""
        self.tick()
        if arrived:
            self.arrive(arrived)
        for _ in range(probes):
            self.told()
        for sent in spared:
            self.told(flags=SATISFIED, sent_bytes=sent)
        self.tick(queue_bytes)

    def expect_told(self, exact, **fields):
        """Within a part in 2^26 and two roundings of a byte/s."""
        found = self.told(**fields)
        self.assertLessEqual(abs(found - exact), 2 + abs(exact) / (1 << 26), f"found {found}, exact {exact}")


class WithoutAgents(o.OpsTest):
    """A probe goes its way, on the wavelength for probes of the first fibre, whatever wavelength it is about."""

    def runTest(self):
        for wavelength in range(o.WAVELENGTHS):
            self.send(IN_PROBES, o.probe(wavelength=wavelength, feedback=-5, sent_bytes=1000, flags=0xFFFF))
            self.expect(
                OUT_PROBES,
                o.probe(wavelength=wavelength, feedback=-5, sent_bytes=1000, flags=0xFFFF, hops_left=o.HOPS - 1),
            )
        self.send(o.probe_port(1), o.probe(dst=o.THERE))
        self.expect(o.probe_port(2), o.probe(dst=o.THERE, hops_left=o.HOPS - 1))


class NothingIsGivenBeforeAnIntervalHasEnded(AgentTest):
    def runTest(self):
        self.assertEqual(self.told(), 0)
        self.tick()
        self.assertEqual(self.told(), 0)
        self.assertEqual(self.told(feedback=-7), -7)


class SpareCapacityIsSharedAlike(AgentTest):
    """Whatever they send: alpha of what is left, by the number of probes."""

    def runTest(self):
        arrived = 625_000
        self.interval(arrived, probes=4)
        for sent in (0, 1000, arrived // 4):
            self.expect_told(feedback(TARGET, arrived, sent, 4), sent_bytes=sent)


class OverloadIsTakenBackByRate(AgentTest):
    """Of twice the target each gives back a part of what it sends."""

    target = TARGET // 2

    def runTest(self):
        arrived = 6_250_000
        self.interval(arrived, probes=3)
        for sent in (0, 1500, arrived // 3, arrived):
            self.expect_told(feedback(self.target, arrived, sent, 3), sent_bytes=sent)


class AtTheTargetTrafficIsShuffled(AgentTest):
    """What is given to all alike is what is taken from each by its rate."""

    def runTest(self):
        arrived = TARGET // PER_SECOND
        self.interval(arrived, probes=2)
        h = GAMMA * TARGET
        self.expect_told(h / 2, sent_bytes=0)
        self.expect_told(0, sent_bytes=arrived // 2)
        self.expect_told(-h / 2, sent_bytes=arrived)


class AStandingQueue(AgentTest):
    """Beta of it in a period."""

    def runTest(self):
        arrived, queue = TARGET // PER_SECOND, 1_000_000
        self.interval(arrived, probes=2, queue_bytes=queue)
        self.expect_told(feedback(TARGET, arrived, 3_000_000, 2, queue), sent_bytes=3_000_000)


class ALowerTarget(AgentTest):
    """30 % of capacity: nothing else knows of it."""

    target = TARGET * 3 // 10

    def runTest(self):
        self.interval(0, probes=5)
        self.expect_told(ALPHA * self.target / 5)


class TheLeastOnTheWayStays(AgentTest):
    def runTest(self):
        self.interval(0, probes=1)
        own = self.told()
        self.assertGreater(own, 1000)
        for before in (own - 1, 5, 0, -1, -(1 << 31)):
            self.assertEqual(self.told(feedback=before), before)
        for before in (own, own + 1, (1 << 31) - 1):
            self.assertEqual(self.told(feedback=before), own)


class NobodyTakesMoreThanThereIs(AgentTest):
    """A probe that says that it has sent more than what came loses what all together lose, at most."""

    target = TARGET // 10

    def runTest(self):
        self.interval(6_250_000, probes=1)
        lost = ALPHA * (TARGET - self.target)
        for sent in (6_250_000, 1 << 31, (1 << 32) - 1):
            self.expect_told(-lost, sent_bytes=sent)


class TheNumberIsThatOfTheLastInterval(AgentTest):
    def runTest(self):
        self.interval(0, probes=2)
        for _ in range(5):
            self.expect_told(ALPHA * TARGET / 2)
        self.tick()
        self.expect_told(ALPHA * TARGET / 5)
        self.tick()
        self.expect_told(ALPHA * TARGET)
        self.tick()
        self.tick()
        self.assertEqual(self.told(), 0, "nobody asked")


class TheSatisfiedAreNotCounted(AgentTest):
    """At the target they are given nothing and lose nothing: what is shuffled is shuffled among the others."""

    def runTest(self):
        arrived = TARGET // PER_SECOND
        self.interval(arrived, probes=2, spared=[arrived // 10] * 6)
        h = GAMMA * TARGET
        self.expect_told(h / 2)
        self.expect_told(0, sent_bytes=arrived // 5)
        self.expect_told(-h / 2, sent_bytes=arrived * 2 // 5)
        self.expect_told(0, flags=SATISFIED, sent_bytes=arrived // 10)
        self.tick()
        self.expect_told(ALPHA * TARGET / 3, sent_bytes=0)


class InOverloadTheSatisfiedGiveAsWell(AgentTest):
    """By their rate, as all do; not of what is shuffled."""

    target = TARGET * 9 // 10

    def runTest(self):
        arrived = TARGET // PER_SECOND
        spared = arrived // 4
        self.interval(arrived, probes=3, spared=[spared])
        for sent in (0, 1_000_000, 2_000_000):
            self.expect_told(feedback(self.target, arrived, sent, 3, spared=spared), sent_bytes=sent)
            self.expect_told(feedback(self.target, arrived, sent, 3, satisfied=True), flags=SATISFIED, sent_bytes=sent)


class AllAreSatisfied(AgentTest):
    """Nobody is given anything; in overload all give, also if they say that they have sent more than has come."""

    target = TARGET // 2

    def runTest(self):
        arrived = TARGET // PER_SECOND
        self.interval(arrived, probes=0, spared=[arrived, arrived])
        too_much = ALPHA * (TARGET - self.target)
        self.expect_told(-too_much / 4, flags=SATISFIED, sent_bytes=arrived // 4)
        self.expect_told(-too_much / 4, sent_bytes=arrived // 4)


class EachOutputHasItsOwn(AgentTest):
    """By fibre and by the wavelength that the probe is about."""

    def runTest(self):
        self.agent(o.data_port(1, 1), TARGET // 5)
        self.agent(o.SIDE, TARGET // 7)
        self.interval(0, probes=1)
        for port, fields in (
            (o.data_port(1, 1), dict(wavelength=1)),
            (o.SIDE, dict(dst=o.ELSEWHERE, out=o.probe_port(2))),
        ):
            self.tick(port=port)
            self.told(**fields)
            self.tick(port=port)
        self.expect_told(ALPHA * TARGET)
        self.expect_told(ALPHA * (TARGET // 5), wavelength=1)
        self.expect_told(ALPHA * (TARGET // 7), dst=o.ELSEWHERE, out=o.probe_port(2))


class RepliesAreNotTouched(AgentTest):
    """Nor counted."""

    def runTest(self):
        self.tick()
        self.told()
        for feedback_so_far in (wire.NO_FEEDBACK, -3):
            self.send(IN_PROBES, o.probe(kind=LabelKind.REPLY, feedback=feedback_so_far))
            self.expect(OUT_PROBES, o.probe(kind=LabelKind.REPLY, feedback=feedback_so_far, hops_left=o.HOPS - 1))
        self.tick()
        self.expect_told(ALPHA * TARGET)


class WhatIsDroppedHasArrived(AgentTest):
    """It was for that output; what is deflected has arrived at both."""

    time_per_byte_q16 = o.AGE_PER_BYTE_Q16

    def runTest(self):
        self.agent(o.SIDE, TARGET)
        self.tick()
        self.tick(port=o.SIDE)
        self.arrive(o.AGE_BYTES)
        self.arrive(o.AGE_BYTES, port=o.SIDE)
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=2, length=o.AGE_BYTES))
        self.await_drops(DropReason.CONTENTION, 1)
        self.told(out=OUT_PROBES)
        self.tick()
        self.expect_told(feedback(TARGET, 3 * o.AGE_BYTES, 1_000_000, 1), sent_bytes=1_000_000)
        self.told(dst=o.ELSEWHERE, out=o.probe_port(2))
        self.tick(port=o.SIDE)


class ManyStates(AgentTest):
    """By real arithmetic: a part in a hundred of (h + |phi|) / N would be a tenth of gamma."""

    def runTest(self):
        numbers = Numbers("states")
        self.tick()
        for _ in range(40):
            arrived = 100 + numbers.below(o.LONGEST_BYTES - 100)
            probes, queue, sent = 1 + numbers.below(5), numbers.below(10_000), numbers.below(arrived)
            self.arrive(arrived)
            for _ in range(probes):
                self.told()
            self.tick(queue)
            self.expect_told(feedback(TARGET, arrived, sent, probes, queue), sent_bytes=sent)
            self.tick()


class TicksOfNoOutput(AgentTest):
    def runTest(self):
        for count, queue in enumerate((OUT_PROBES, o.OUT + 3, 0, 255, 1000, wire.PORT_LINECARD, 65535), 1):
            self.send(wire.PORT_LINECARD, o.interval_tick(IntervalTimer.CONTROL, queue, START_NS))
            self.await_drops(DropReason.BAD_QUEUE, count)
        self.expect_drop(DropReason.BAD_QUEUE, 7)


class TicksWithoutAnAgent(AgentTest):
    def runTest(self):
        self.send(wire.PORT_LINECARD, o.interval_tick(IntervalTimer.CONTROL, o.SIDE, START_NS))
        self.expect_drop(DropReason.NO_SIGNALING)


class OtherCardMessages(AgentTest):
    def runTest(self):
        for kind in (
            LineCardKind.SLOT_TICK,
            LineCardKind.QUEUE_REPORT,
            LineCardKind.FLOW_CONTROL,
            LineCardKind.RING_TICK,
            15,
        ):
            self.send(
                wire.PORT_LINECARD,
                ethernet(wire.ETHERTYPE_LINECARD),
                wire.Linecard(version=wire.LINECARD_VERSION, kind=kind),
                bytes(60),
            )
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=2, kind=LineCardKind.INTERVAL_TICK),
            bytes(60),
        )
        self.expect_drop(DropReason.BAD_VERSION, 6)


class RefusedProbes(AgentTest):
    """Whatever is wrong with them: the agent has heard of one macroflow only."""

    def refuse(self, reason, *probes):
        self.tick()
        self.told()
        for count, data in enumerate(probes, 1):
            self.send(IN_PROBES, data)
            self.await_drops(reason, count)
        self.expect_drop(reason, len(probes))
        self.tick()
        self.expect_told(ALPHA * TARGET)


class ProbesWithBadFields(RefusedProbes):
    """About a wavelength that there is not, with what only a train has, or from an edge to itself."""

    def runTest(self):
        wrong = (
            dict(wavelength=o.WAVELENGTHS),
            dict(wavelength=255),
            dict(train=1),
            dict(length=1),
            dict(packets=1),
            dict(src=o.THERE),
        )
        self.refuse(
            DropReason.BAD_FIELD,
            *(o.probe(kind=kind, **fields) for fields in wrong for kind in (LabelKind.PROBE, LabelKind.REPLY)),
        )


class ProbesThatHaveTravelledTooFar(RefusedProbes):
    def runTest(self):
        self.refuse(
            DropReason.TTL_EXPIRED,
            *(o.probe(kind=kind, hops_left=hops) for hops in (0, 1) for kind in (LabelKind.PROBE, LabelKind.REPLY)),
        )


class ProbesWithoutARoute(RefusedProbes):
    """To nobody, or back."""

    def runTest(self):
        self.refuse(
            DropReason.NO_ROUTE,
            o.probe(dst=o.NOWHERE),
            o.probe(dst=o.HERE),
            o.probe(dst=o.NOWHERE, kind=LabelKind.REPLY),
        )


class ProbesOfOtherKinds(RefusedProbes):
    def runTest(self):
        self.refuse(DropReason.BAD_VERSION, *(o.probe(kind=kind) for kind in (3, 15)), o.probe(version=4))


class ProbesCutShort(RefusedProbes):
    def runTest(self):
        whole = o.probe()
        self.refuse(DropReason.TRUNCATED, *(whole[:size] for size in range(wire.Ethernet.SIZE, len(whole))))


class ProbesElsewhere(AgentTest):
    """From a host, the card or the controller."""

    def runTest(self):
        for count, port in enumerate((1, wire.PORT_LINECARD), 1):
            self.send(port, o.probe())
            self.await_drops(DropReason.UNEXPECTED_PORT, count)
        self.switch.packet_out(wire.PORT_SELF, frame(o.probe()))
        self.await_drops(DropReason.UNEXPECTED_PORT, 3)
        self.expect_drop(DropReason.UNEXPECTED_PORT, 3)
