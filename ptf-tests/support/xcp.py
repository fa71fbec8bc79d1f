# SPDX-License-Identifier: Apache-2.0
"""XCP packets and interval ticks, and their effects, in whole units: ns, 1/4 ns, 1/16 byte/s."""

from slotwise import wire
from slotwise.wire import FlowOp, IntervalTimer, LineCardKind, XcpFormat, XcpVerdict
from support.base import ethernet, ipv4, linecard

MS = 1_000_000
X_PER_NS, RATE_PER_BYTE = 4, 16
LARGEST = (1 << 31) - 1
# Defaults of xcp_params.
ALPHA, BETA, GAMMA = 26214 / 65536, 14811 / 65536, 6554 / 65536
INITIAL_RTT_NS, MIN_CONTROL_NS, MIN_QUEUE_NS = 50 * MS, MS, 2 * MS
START_NS = 1_000_000 * MS
RTT_NS = 100 * MS
PACKET_BYTES = 1000
PAYLOAD = bytes(PACKET_BYTES - wire.Ipv4.SIZE - wire.XCP_LENGTH)
TCP = wire.IP_PROTOCOL_TCP


def rate(bits_per_second):
    return bits_per_second * RATE_PER_BYTE // 8


def header(rtt_ns=RTT_NS, spacing_ns=10 * MS, wanted=LARGEST, **fields):
    """XCP header of a sender with one packet every `spacing_ns`."""
    defaults = dict(
        protocol=TCP,
        length=wire.XCP_LENGTH,
        version=wire.XCP_VERSION,
        format=XcpFormat.STANDARD,
        rtt=rtt_ns,
        x=spacing_ns * X_PER_NS,
        delta_throughput=wanted % (1 << 32),
    )
    return wire.Xcp(**{**defaults, **fields})


def delta_of(xcp):
    """Signed delta_throughput."""
    return xcp.delta_throughput - (1 << 32 if xcp.delta_throughput >> 31 else 0)


class XcpMixin:
    """Mixin of a SwitchTest that defines input and output of XCP packets, and their format there."""

    in_port = out_port = None

    def xcp_packet(self, shim, payload=PAYLOAD):
        return ipv4(self.xcp_dst, shim.encode() + payload)

    def through(self, shim, payload=PAYLOAD):
        """Sends a packet and returns its shim at the output; the payload behind it must be unchanged."""
        self.send(
            self.in_port, ethernet(wire.ETHERTYPE_IPV4, dst=self.mac), self.xcp_packet(shim, payload), shim, payload
        )
        found = self.received(self.out_port)[self.shim_at :]
        self.assertEqual(found[wire.Xcp.SIZE :], payload)
        return wire.Xcp.decode(found)

    def granted(self, **fields):
        return delta_of(self.through(header(**fields)))

    def expect_untouched(self, shim, payload=PAYLOAD):
        self.assertEqual(self.through(shim, payload), shim)

    def expect_near(self, found, exact, units=1):
        """Expects a value within the error of the arithmetic: 2^-26, a margin over the sum in docs/xcp.md, and rounding to a unit."""
        self.assertLessEqual(abs(found - exact), units + abs(exact) / (1 << 26), f"found {found}, exact {exact}")

    def send_interval_tick(self, queue, timer, local_ns, least_backlog_bytes=0, **report):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(LineCardKind.INTERVAL_TICK),
            wire.IntervalTick(timer=timer, least_backlog_bytes=least_backlog_bytes, local_ns=local_ns),
            wire.QueueReport(queue=queue, **report),
        )

    def timer(self, queue, timer, local_ns, **fields):
        """Triggers a timer tick; returns the time until the next one from the response."""
        self.send_interval_tick(queue, timer, local_ns, **fields)
        found = self.received(wire.PORT_LINECARD)
        op = FlowOp.SET_CONTROL_TIMER if timer == IntervalTimer.CONTROL else FlowOp.SET_QUEUE_TIMER
        value = wire.FlowControl.decode(found[wire.Ethernet.SIZE + wire.Linecard.SIZE :]).value
        expected = (
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(LineCardKind.FLOW_CONTROL),
            wire.FlowControl(queue=queue, op=op, value=value),
        )
        self.assertEqual(found.hex(), b"".join(p.encode() for p in expected).hex())
        return value

    def control(self, local_ns, queue=None):
        return self.timer(self.queue if queue is None else queue, IntervalTimer.CONTROL, local_ns)

    def queue_tick(self, local_ns, least_backlog_bytes, backlog_bytes=0):
        return self.timer(
            self.queue,
            IntervalTimer.QUEUE,
            local_ns,
            least_backlog_bytes=least_backlog_bytes,
            backlog_bytes=backlog_bytes,
        )

    def interval(self, packets, start_ns=START_NS, length_ns=RTT_NS):
        """Control interval with this number of packets of one sender, all without a grant yet."""
        self.control(start_ns)
        for _ in range(packets):
            self.assertEqual(self.granted(), 0)
        return self.control(start_ns + length_ns)

    def verdicts(self):
        return {v.name: self.switch.counter("xcp_headers", v)[0] for v in XcpVerdict}
