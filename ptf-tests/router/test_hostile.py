# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of a router; see edge/test_hostile.py."""

from slotwise import wire
from slotwise.wire import IntervalTimer, LineCardKind
from support import router as r
from support.base import ethernet, frame, ipv4, linecard
from support.hostile import Hostile
from support.xcp import MS, header

DIGEST = "746850595004ddbd0f9a2d30ac2c10737728ccca0bc128f47871ac7d4e42883e"
OUT = [r.OUT_PORT, r.IN_PORT, wire.PORT_LINECARD]


def tick(timer, local_ns):
    return frame(
        ethernet(wire.ETHERTYPE_LINECARD),
        linecard(LineCardKind.INTERVAL_TICK),
        wire.IntervalTick(timer=timer, least_backlog_bytes=1000, local_ns=local_ns),
        wire.QueueReport(queue=r.OUT_PORT, backlog_bytes=2000),
    )


class HostileToRouter(Hostile, r.RouterXcpTest):
    def runTest(self):
        to_there = ethernet(wire.ETHERTYPE_IPV4, dst=r.MAC)
        packets = [
            frame(to_there, ipv4(r.THERE, shim.encode()), shim)
            for shim in (header(), header(rtt_ns=20 * MS, spacing_ns=MS, wanted=-1000))
        ]
        arp = wire.ArpIpv4(opcode=wire.ARP_REQUEST, sender_mac=1, sender_ip=r.BACK, target_ip=r.THERE)
        templates = [(r.IN_PORT, packet) for packet in packets]
        templates += [
            (wire.PORT_LINECARD, tick(timer, local_ns * MS))
            for local_ns in (1000, 1030, 1090)
            for timer in (IntervalTimer.CONTROL, IntervalTimer.QUEUE)
        ]
        templates += [(r.IN_PORT, frame(ethernet(wire.ETHERTYPE_ARP), arp)), (r.OUT_PORT, packets[0])]
        self.assertEqual(self.digest_of(templates, OUT), DIGEST)
