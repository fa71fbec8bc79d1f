# SPDX-License-Identifier: Apache-2.0
"""Frames from hosts: ARP, routing, classification, queue choice, and the optical header."""

from slotwise import wire
from slotwise.wire import DropReason
from support import edge as e
from support.base import ethernet, frame, ipv4, optical

REMOTE_NET, REMOTE_HOST = 0x0A020000, 0x0A020001
LOCAL_HOST = 0x0A010002
PAYLOAD = b"payload of no protocol in particular"
EXPEDITED = 46
UDP = wire.IP_PROTOCOL_UDP


class AccessTest(e.EdgeTest):
    def setUp(self):
        super().setUp()
        self.switch.insert("ipv4_route", {"dst": (REMOTE_NET, 16)}, "to_edge", edge=e.REMOTE)
        self.switch.insert(
            "ipv4_route", {"dst": (LOCAL_HOST, 32)}, "to_host", port=e.OTHER_HOST_PORT, mac=e.OTHER_HOST_MAC
        )
        self.queue(traffic_class=0, queue=e.REMOTE)

    def queue(self, traffic_class, queue):
        self.switch.insert("voq", {"dst_edge": e.REMOTE, "class": traffic_class}, "enqueue", queue=queue, port=e.FIBRE)

    def send_ip(self, header, payload=PAYLOAD):
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC), header, payload)

    def expect_queued(self, header, payload=PAYLOAD, queue=e.REMOTE, traffic_class=0, sequence=1):
        """The packet leaves by the fibre with an optical header and one hop less to live."""
        routed = wire.Ipv4(**{**header.__dict__, "ttl": header.ttl - 1})
        routed = ipv4(**{**routed.__dict__, "checksum": 0})
        self.expect(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
            optical(
                wire.OpticalKind.DATA,
                traffic_class=traffic_class,
                src_edge=self.edge,
                dst_edge=e.REMOTE,
                queue=queue,
                sequence=sequence,
                inner_type=wire.ETHERTYPE_IPV4,
            ),
            routed,
            payload,
        )

    def classify(self, traffic_class, priority=1, **key):
        self.switch.insert("traffic_class", key, "set_class", priority=priority, traffic_class=traffic_class)


class OpticalHeader(AccessTest):
    def runTest(self):
        header = ipv4(REMOTE_HOST, PAYLOAD)
        self.send_ip(header)
        self.expect_queued(header, sequence=1)
        self.send_ip(header)
        self.expect_queued(header, sequence=2)
        self.expect_silence()


class ChecksumOfEveryTtl(AccessTest):
    """The incremental update agrees with the definition, also where the sum wraps."""

    def runTest(self):
        for sequence, (ttl, identification) in enumerate([(2, 0), (64, 0xFFFF), (255, 1), *self.wrapping()], 1):
            header = ipv4(REMOTE_HOST, PAYLOAD, ttl=ttl, identification=identification)
            self.send_ip(header)
            self.expect_queued(header, sequence=sequence)

    @staticmethod
    def wrapping():
        """(ttl, identification) of headers whose checksums are at the wrap."""
        for wanted in (0xFEFE, 0xFEFF, 0xFF00):
            base = ipv4(REMOTE_HOST, PAYLOAD, ttl=9).checksum
            yield 9, (base - wanted) % 0xFFFF


class SequencePerQueue(AccessTest):
    def runTest(self):
        self.classify(1, dscp=(EXPEDITED, 0x3F))
        self.queue(traffic_class=1, queue=18)
        plain, urgent = ipv4(REMOTE_HOST, PAYLOAD), ipv4(REMOTE_HOST, PAYLOAD, dscp=EXPEDITED)
        for header, queue, traffic_class, sequence in ((plain, 2, 0, 1), (urgent, 18, 1, 1), (plain, 2, 0, 2)):
            self.send_ip(header)
            self.expect_queued(header, queue=queue, traffic_class=traffic_class, sequence=sequence)


class ClassByPort(AccessTest):
    def runTest(self):
        self.classify(2, protocol=(UDP, 0xFF), l4_dst=(5201, 0xFFFF))
        self.queue(traffic_class=2, queue=34)
        payload = wire.L4Ports(src=40000, dst=5201).encode() + PAYLOAD
        header = ipv4(REMOTE_HOST, payload, protocol=UDP)
        self.send_ip(header, payload)
        self.expect_queued(header, payload, queue=34, traffic_class=2)
        # Bytes at the ports' place are no ports in a later fragment, nor behind options.
        for fields in (dict(frag_offset=100), dict(ihl=6)):
            other = ipv4(REMOTE_HOST, payload, protocol=UDP, **fields)
            self.send_ip(other, payload)
            found = wire.Optical.decode(self.received(e.FIBRE)[wire.Ethernet.SIZE :])
            self.assertEqual((found.queue, found.traffic_class), (e.REMOTE, 0), fields)


class HigherPriorityClassWins(AccessTest):
    def runTest(self):
        self.classify(1, priority=10)
        self.classify(3, priority=20, dscp=(EXPEDITED, 0x3F))
        self.queue(traffic_class=3, queue=50)
        header = ipv4(REMOTE_HOST, PAYLOAD, dscp=EXPEDITED)
        self.send_ip(header)
        self.expect_queued(header, queue=50, traffic_class=3)


class HostOfSameEdge(AccessTest):
    def runTest(self):
        header = ipv4(LOCAL_HOST, PAYLOAD)
        self.send_ip(header)
        self.expect(
            e.OTHER_HOST_PORT,
            ethernet(wire.ETHERTYPE_IPV4, dst=e.OTHER_HOST_MAC, src=e.MAC),
            ipv4(LOCAL_HOST, PAYLOAD, ttl=63),
            PAYLOAD,
        )


class NoRoute(AccessTest):
    def runTest(self):
        self.send_ip(ipv4(0xC0A80001, PAYLOAD))
        self.expect_drop(DropReason.NO_ROUTE)


class NotIpv4(AccessTest):
    def runTest(self):
        self.send(e.HOST_PORT, ethernet(0x86DD), PAYLOAD)
        self.send_ip(ipv4(REMOTE_HOST, PAYLOAD, version=6))
        self.send_ip(ipv4(REMOTE_HOST, PAYLOAD, ihl=4))
        self.expect_drop(DropReason.NO_ROUTE, 3)


class NoVoq(AccessTest):
    def runTest(self):
        self.classify(9, dscp=(EXPEDITED, 0x3F))
        self.send_ip(ipv4(REMOTE_HOST, PAYLOAD, dscp=EXPEDITED))
        self.expect_drop(DropReason.NO_VOQ)


class SignalingQueueIsNoVoq(AccessTest):
    def runTest(self):
        self.classify(1, dscp=(EXPEDITED, 0x3F))
        self.queue(traffic_class=1, queue=wire.SIGNALING_QUEUE)
        self.send_ip(ipv4(REMOTE_HOST, PAYLOAD, dscp=EXPEDITED))
        self.expect_drop(DropReason.BAD_QUEUE)


class TtlExpired(AccessTest):
    def runTest(self):
        self.send_ip(ipv4(REMOTE_HOST, PAYLOAD, ttl=1))
        self.send_ip(ipv4(REMOTE_HOST, PAYLOAD, ttl=0))
        self.expect_drop(DropReason.TTL_EXPIRED, 2)


class Truncated(AccessTest):
    def runTest(self):
        whole = frame(ethernet(wire.ETHERTYPE_IPV4), ipv4(REMOTE_HOST, protocol=UDP), wire.L4Ports())
        lengths = (14, 15, 33, 34, 37)
        for length in lengths:
            self.send(e.HOST_PORT, whole[:length])
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_ARP), bytes(27))
        self.expect_drop(DropReason.TRUNCATED, len(lengths) + 1)


class HostsMayNotSignal(AccessTest):
    """A host can forge neither light nor a line card."""

    def runTest(self):
        self.send(e.HOST_PORT, *e.beacon(e.MASTER, e.SLAVE, active_version=4, next_version=4))
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_LINECARD), bytes(64))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)


class ArpTest(e.EdgeTest):
    def send_arp(self, **fields):
        defaults = dict(
            hw_type=1,
            proto_type=wire.ETHERTYPE_IPV4,
            hw_len=6,
            proto_len=4,
            opcode=wire.ARP_REQUEST,
            sender_mac=e.HOST_MAC,
            sender_ip=0x0A010001,
            target_ip=REMOTE_HOST,
        )
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_ARP, src=e.HOST_MAC), wire.ArpIpv4(**{**defaults, **fields}))


class ArpProxy(ArpTest):
    def runTest(self):
        self.send_arp()
        self.expect(
            e.HOST_PORT,
            ethernet(wire.ETHERTYPE_ARP, dst=e.HOST_MAC, src=e.MAC),
            wire.ArpIpv4(
                hw_type=1,
                proto_type=wire.ETHERTYPE_IPV4,
                hw_len=6,
                proto_len=4,
                opcode=wire.ARP_REPLY,
                sender_mac=e.MAC,
                sender_ip=REMOTE_HOST,
                target_mac=e.HOST_MAC,
                target_ip=0x0A010001,
            ),
        )


class ArpThatWantsNoAnswer(ArpTest):
    """Probes and announcements of a host's own address, and replies."""

    def runTest(self):
        self.send_arp(sender_ip=0)
        self.send_arp(sender_ip=REMOTE_HOST)
        self.send_arp(opcode=wire.ARP_REPLY)
        self.expect_drop(DropReason.NO_ROUTE, 3)
