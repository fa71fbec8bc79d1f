# SPDX-License-Identifier: Apache-2.0
"""XCP on a router's port: feedback and residues, intervals, headers that are not to be touched."""

import itertools

from slotwise import wire
from slotwise.wire import DropReason, IntervalTimer, XcpFormat
from support import router as r
from support.base import ethernet, frame, ipv4, linecard
from support.xcp import (
    ALPHA,
    BETA,
    GAMMA,
    INITIAL_RTT_NS,
    LARGEST,
    MIN_CONTROL_NS,
    MIN_QUEUE_NS,
    MS,
    PACKET_BYTES,
    PAYLOAD,
    RATE_PER_BYTE,
    RTT_NS,
    START_NS,
    delta_of,
    header,
)

PACKETS = 10
# Ten packets of 1000 bytes in 100 ms.
INPUT = PACKETS * PACKET_BYTES * RATE_PER_BYTE * 10


class PositiveFeedback(r.RouterXcpTest):
    """What is left of the capacity is given out by packets in proportion to their spacing, and not twice."""

    def runTest(self):
        self.interval(PACKETS)
        phi = ALPHA * (r.CAPACITY - INPUT)
        for _ in range(PACKETS):
            self.expect_near(self.granted(), phi / PACKETS)
        self.assertLessEqual(self.granted(), PACKETS)


class InProportionToSpacing(r.RouterXcpTest):
    def runTest(self):
        self.interval(PACKETS)
        share = ALPHA * (r.CAPACITY - INPUT) / PACKETS
        self.expect_near(self.granted(spacing_ns=MS), share / 10)
        self.expect_near(self.granted(spacing_ns=20 * MS), share * 2)


class NegativeFeedback(r.RouterXcpTest):
    """Of a load of four times the capacity each byte has to take its part back."""

    def runTest(self):
        capacity = INPUT // 4
        self.control_output(r.IN_PORT, capacity)
        self.out_port, self.in_port, self.queue, self.xcp_dst = r.IN_PORT, r.OUT_PORT, r.IN_PORT, r.BACK
        self.interval(PACKETS)
        take_back = ALPHA * (INPUT - capacity)
        for _ in range(PACKETS):
            self.expect_near(self.granted(), -take_back / PACKETS)
        self.assertGreaterEqual(self.granted(), -PACKETS)


class Shuffling(r.RouterXcpTest):
    """At full load what some lose others win: a tenth of the load, by spacing and by bytes."""

    def runTest(self):
        self.control_output(r.IN_PORT, INPUT)
        self.out_port, self.in_port, self.queue, self.xcp_dst = r.IN_PORT, r.OUT_PORT, r.IN_PORT, r.BACK
        self.interval(PACKETS)
        shuffled = GAMMA * INPUT / PACKETS
        self.expect_near(self.granted(), 0)
        self.expect_near(self.granted(spacing_ns=20 * MS), shuffled, units=2)
        self.expect_near(self.granted(spacing_ns=5 * MS), -shuffled / 2, units=2)


class LowerRequestStays(r.RouterXcpTest):
    """What another router gave less of is left for others."""

    def runTest(self):
        self.interval(PACKETS)
        phi = ALPHA * (r.CAPACITY - INPUT)
        self.assertEqual(self.granted(wanted=1000), 1000)
        self.assertEqual(self.granted(wanted=-500, spacing_ns=10 * MS), -500)
        self.expect_near(self.granted(spacing_ns=100 * MS), phi - 500, units=3)


class RequestBelowTheField(r.RouterXcpTest):
    def runTest(self):
        self.interval(PACKETS)
        self.assertEqual(self.granted(wanted=-LARGEST - 1), -LARGEST - 1)


class FirstPacketOfAFlow(r.RouterXcpTest):
    """Without a round-trip time there is nothing to share in; a cut by another router stays."""

    def runTest(self):
        self.interval(PACKETS)
        self.assertEqual(self.granted(rtt_ns=0, spacing_ns=0), 0)
        self.assertEqual(self.granted(rtt_ns=0, spacing_ns=0, wanted=-7), -7)


class NothingBeforeTheFirstInterval(r.RouterXcpTest):
    def runTest(self):
        self.assertEqual(self.granted(), 0)
        self.assertEqual(self.granted(wanted=-3), -3)


class PersistentQueue(r.RouterXcpTest):
    def runTest(self):
        self.control(START_NS)
        for _ in range(PACKETS):
            self.through(header())
        self.queue_tick(START_NS + RTT_NS, least_backlog_bytes=20_000)
        self.control(START_NS + RTT_NS)
        phi = ALPHA * (r.CAPACITY - INPUT) - BETA * 20_000 * RATE_PER_BYTE * 10
        self.expect_near(self.granted(), phi / PACKETS)


class Timers(r.RouterXcpTest):
    """The control interval is the mean round-trip time, the queue's half of what it is without the queue's delay."""

    def runTest(self):
        self.assertEqual(self.control(START_NS), INITIAL_RTT_NS)
        self.assertEqual(self.queue_tick(START_NS, 0), INITIAL_RTT_NS // 2)
        for rtt_ns in (50 * MS, 150 * MS):
            self.through(header(rtt_ns=rtt_ns))
        self.expect_near(self.control(START_NS + RTT_NS), RTT_NS)
        # 50,000 bytes take 40 ms.
        self.expect_near(self.queue_tick(START_NS + RTT_NS, 0, backlog_bytes=50_000), (RTT_NS - 40 * MS) // 2, units=2)
        self.assertEqual(self.queue_tick(START_NS + RTT_NS, 0, backlog_bytes=1 << 31), MIN_QUEUE_NS)
        self.through(header(rtt_ns=1000, spacing_ns=1000))
        self.assertEqual(self.control(START_NS + 2 * RTT_NS), MIN_CONTROL_NS)


class LongRoundTripsCountAsASecond(r.RouterXcpTest):
    def runTest(self):
        self.control(START_NS)
        self.through(header(rtt_ns=(1 << 32) - 1))
        self.expect_near(self.control(START_NS + RTT_NS), 1000 * MS)


class WholeQuanta(r.RouterXcpTest):
    """Intervals are whole frames where the controller says so."""

    def runTest(self):
        quantum_ns = 7 * MS
        self.switch.set_default(
            "xcp_params",
            "set_xcp_params",
            alpha_q16=1,
            beta_q16=1,
            gamma_q16=1,
            initial_rtt_ns=22 * MS,
            min_control_ns=MS,
            min_queue_ns=MS,
            quantum_ns=quantum_ns,
        )
        self.assertEqual(self.control(START_NS), 4 * quantum_ns)
        self.assertEqual(self.queue_tick(START_NS, 0), 2 * quantum_ns)
        self.assertEqual(self.queue_tick(START_NS, 0, backlog_bytes=1 << 31), quantum_ns)


class GapStartsAfresh(r.RouterXcpTest):
    """After 4.3 s without a tick, or a step back, the sums are of no interval."""

    def runTest(self):
        for start_ns, again_ns in ((START_NS, START_NS + (1 << 32)), (2 * START_NS, START_NS)):
            self.interval(PACKETS, start_ns=start_ns)
            self.assertGreater(self.granted(), 0)
            self.assertEqual(self.control(again_ns + RTT_NS), INITIAL_RTT_NS)
            self.assertEqual(self.granted(), 0)


class BadHeadersUntouched(r.RouterXcpTest):
    def runTest(self):
        bad = {
            "BAD_VERSION": [dict(version=0), dict(version=2)],
            "BAD_LENGTH": [dict(length=19), dict(length=21)],
            "BAD_FORMAT": [dict(format=0), dict(format=3)],
            "BAD_FIELDS": [dict(x=0), dict(x=RTT_NS * 4 + 1), dict(rtt=1, x=5)],
        }
        self.control(START_NS)
        for _ in range(PACKETS):
            self.through(header())
        for fields in itertools.chain(*bad.values()):
            self.expect_untouched(header(**fields))
        self.control(START_NS + RTT_NS)
        for fields in itertools.chain(*bad.values()):
            self.expect_untouched(header(**fields))
        # They counted for nothing in the interval's sums.
        self.expect_near(self.granted(), ALPHA * (r.CAPACITY - INPUT) / PACKETS)
        expected = {name: 2 * len(fields) for name, fields in bad.items()}
        self.assertEqual(self.verdicts(), {"STANDARD": PACKETS + 1, "MINIMAL": 0, **expected})


class LongerThanItsFrame(r.RouterXcpTest):
    """A packet whose IP header says more than came counts for nothing: a few bytes would pass for 64 kB."""

    def runTest(self):
        self.control(START_NS)
        for _ in range(PACKETS):
            self.through(header())
        for total_len in (PACKET_BYTES + 1, 65535):
            packet = ipv4(self.xcp_dst, header().encode() + PAYLOAD, total_len=total_len)
            self.send(self.in_port, ethernet(wire.ETHERTYPE_IPV4, dst=self.mac), packet, header(), PAYLOAD)
            found = self.received(self.out_port)[self.shim_at :]
            self.assertEqual(wire.Xcp.decode(found), header())
        self.control(START_NS + RTT_NS)
        self.expect_near(self.granted(), ALPHA * (r.CAPACITY - INPUT) / PACKETS)
        self.assertEqual(self.verdicts()["BAD_LENGTH"], 2)


class AcknowledgmentsCountAsBytes(r.RouterXcpTest):
    def runTest(self):
        minimal = header(format=XcpFormat.MINIMAL, rtt=0, x=0, delta_throughput=0, reverse_feedback=12345)
        self.control(START_NS)
        for _ in range(PACKETS // 2):
            self.through(header())
            self.expect_untouched(minimal)
        self.control(START_NS + RTT_NS)
        self.expect_untouched(minimal)
        self.expect_near(self.granted(), ALPHA * (r.CAPACITY - INPUT) / (PACKETS // 2))
        self.assertEqual(self.verdicts()["MINIMAL"], PACKETS // 2 + 1)


class ReverseFeedbackIsTheReceivers(r.RouterXcpTest):
    def runTest(self):
        found = self.through(header(reverse_feedback=0xDEADBEEF))
        self.assertEqual((delta_of(found), found.reverse_feedback), (0, 0xDEADBEEF))


class OtherExperimentsPass(r.RouterXcpTest):
    """Protocol 253 with less than a header of XCP, or behind options, or in a fragment, is payload."""

    def runTest(self):
        self.interval(PACKETS)
        before = self.verdicts()
        whole = header().encode()
        for payload, fields in ((b"", {}), (whole[:-1], {}), (whole, dict(ihl=6)), (whole, dict(frag_offset=1))):
            self.send(r.IN_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=r.MAC), ipv4(r.THERE, payload, **fields), payload)
            self.expect(
                r.OUT_PORT,
                ethernet(wire.ETHERTYPE_IPV4, dst=r.NEXT_HOP_MAC, src=r.MAC),
                ipv4(r.THERE, payload, ttl=63, **fields),
                payload,
            )
        self.assertEqual(self.verdicts(), before)


class SeveralOutputs(r.RouterXcpTest):
    """Each has its own sums, capacity and timers."""

    def runTest(self):
        self.control_output(r.IN_PORT, 2 * r.CAPACITY)
        self.interval(PACKETS)
        self.out_port, self.in_port, self.queue, self.xcp_dst = r.IN_PORT, r.OUT_PORT, r.IN_PORT, r.BACK
        self.interval(1, start_ns=5 * START_NS)
        other_input = PACKET_BYTES * RATE_PER_BYTE * 10
        self.expect_near(self.granted(), ALPHA * (2 * r.CAPACITY - other_input))
        self.out_port, self.in_port, self.queue, self.xcp_dst = r.OUT_PORT, r.IN_PORT, r.OUT_PORT, r.THERE
        self.expect_near(self.granted(), ALPHA * (r.CAPACITY - INPUT) / PACKETS)


class NoController(r.RouterXcpTest):
    """XCP passes by, ticks have no answer."""

    def runTest(self):
        self.out_port, self.in_port, self.xcp_dst = r.IN_PORT, r.OUT_PORT, r.BACK
        self.expect_untouched(header())
        self.assertEqual(self.verdicts()["STANDARD"], 1)
        for queue in (r.IN_PORT, wire.MAX_QUEUES - 1):
            self.send_interval_tick(queue, IntervalTimer.CONTROL, START_NS)
        self.expect_drop(DropReason.NO_SIGNALING, 2)


class TickOutOfRange(r.RouterXcpTest):
    def runTest(self):
        for queue in (wire.MAX_QUEUES, 0xFFFF):
            self.send_interval_tick(queue, IntervalTimer.CONTROL, START_NS)
        self.expect_drop(DropReason.BAD_QUEUE, 2)


class Truncated(r.RouterXcpTest):
    def runTest(self):
        tick = frame(
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(wire.LineCardKind.INTERVAL_TICK),
            wire.IntervalTick(),
            wire.QueueReport(queue=r.OUT_PORT),
        )
        self.send(wire.PORT_LINECARD, tick[:-1])
        packet = frame(ethernet(wire.ETHERTYPE_IPV4, dst=r.MAC), ipv4(r.THERE, header().encode()), header())
        self.send(r.IN_PORT, packet[:-1])
        self.expect_drop(DropReason.TRUNCATED, 2)


class OverheadCounts(r.RouterXcpTest):
    """Framing takes capacity too."""

    def runTest(self):
        self.control_output(r.IN_PORT, r.CAPACITY, overhead=500)
        self.out_port, self.in_port, self.queue, self.xcp_dst = r.IN_PORT, r.OUT_PORT, r.IN_PORT, r.BACK
        self.interval(PACKETS)
        self.expect_near(self.granted(), ALPHA * (r.CAPACITY - INPUT * 3 // 2) / PACKETS)
