# SPDX-License-Identifier: Apache-2.0
"""A plain IP router: routes, time to live, ARP, and what is dropped."""

from slotwise import wire
from slotwise.wire import DropReason
from support import router as r
from support.base import UNKNOWN_VERSION, ethernet, frame, ipv4, linecard

PAYLOAD = b"payload of no protocol in particular"
HOST_MAC = 0x020000000009


class ForwardingTest(r.RouterTest):
    def send_ip(self, dst, **fields):
        self.send(r.IN_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=r.MAC), ipv4(dst, PAYLOAD, **fields), PAYLOAD)

    def expect_ip(self, port, mac, dst, **fields):
        self.expect(port, ethernet(wire.ETHERTYPE_IPV4, dst=mac, src=r.MAC), ipv4(dst, PAYLOAD, **fields), PAYLOAD)


class Forwards(ForwardingTest):
    def runTest(self):
        self.send_ip(r.THERE, ttl=9)
        self.expect_ip(r.OUT_PORT, r.NEXT_HOP_MAC, r.THERE, ttl=8)
        self.expect_silence()


class LongestPrefixWins(ForwardingTest):
    def runTest(self):
        self.route(r.THERE, 32, r.IN_PORT, r.BACK_MAC)
        self.send_ip(r.THERE)
        self.expect_ip(r.IN_PORT, r.BACK_MAC, r.THERE, ttl=63)
        self.send_ip(r.THERE + 1)
        self.expect_ip(r.OUT_PORT, r.NEXT_HOP_MAC, r.THERE + 1, ttl=63)


class NoRoute(ForwardingTest):
    def runTest(self):
        self.send_ip(0x0B000001)
        self.send(r.IN_PORT, ethernet(0x86DD), PAYLOAD)
        self.expect_drop(DropReason.NO_ROUTE, 2)


class TtlExpired(ForwardingTest):
    def runTest(self):
        self.send_ip(r.THERE, ttl=1)
        self.expect_drop(DropReason.TTL_EXPIRED)


class AnswersArp(ForwardingTest):
    def runTest(self):
        request = wire.ArpIpv4(
            hw_type=1,
            proto_type=wire.ETHERTYPE_IPV4,
            hw_len=6,
            proto_len=4,
            opcode=wire.ARP_REQUEST,
            sender_mac=HOST_MAC,
            sender_ip=r.BACK,
            target_ip=r.THERE,
        )
        self.send(r.IN_PORT, ethernet(wire.ETHERTYPE_ARP, src=HOST_MAC), request)
        reply = {
            **request.__dict__,
            "opcode": wire.ARP_REPLY,
            "sender_mac": r.MAC,
            "sender_ip": r.THERE,
            "target_mac": HOST_MAC,
            "target_ip": r.BACK,
        }
        self.expect(r.IN_PORT, ethernet(wire.ETHERTYPE_ARP, dst=HOST_MAC, src=r.MAC), wire.ArpIpv4(**reply))


class UnexpectedPort(ForwardingTest):
    """Line-card messages by a port, data by the line cards' port, anything by a port outside the plan."""

    def runTest(self):
        report = (ethernet(wire.ETHERTYPE_LINECARD), linecard(wire.LineCardKind.QUEUE_REPORT), wire.QueueReport())
        self.send(r.IN_PORT, *report)
        self.send(wire.PORT_LINECARD, ethernet(wire.ETHERTYPE_IPV4), ipv4(r.THERE, PAYLOAD), PAYLOAD)
        self.send(wire.PORT_OPTICAL_BASE, ethernet(wire.ETHERTYPE_IPV4), ipv4(r.THERE, PAYLOAD), PAYLOAD)
        self.expect_drop(DropReason.UNEXPECTED_PORT, 3)


class BadLineCardMessages(ForwardingTest):
    def runTest(self):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=UNKNOWN_VERSION, kind=wire.LineCardKind.INTERVAL_TICK),
            bytes(40),
        )
        self.send(
            wire.PORT_LINECARD, ethernet(wire.ETHERTYPE_LINECARD), linecard(wire.LineCardKind.SLOT_TICK), bytes(40)
        )
        self.expect_drop(DropReason.BAD_VERSION, 2)


class PacketOut(ForwardingTest):
    def runTest(self):
        whole = frame(ethernet(0x88B7), PAYLOAD)
        self.switch.packet_out(r.OUT_PORT, whole)
        self.expect(r.OUT_PORT, whole)
        self.switch.packet_out(wire.PORT_SELF, whole)
        self.expect_drop(DropReason.UNEXPECTED_PORT)
