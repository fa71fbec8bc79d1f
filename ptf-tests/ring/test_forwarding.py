# SPDX-License-Identifier: Apache-2.0
"""A station's hosts and its ring: what is added, passed on, taken off, refused."""

from slotwise import wire
from slotwise.wire import DropReason, RingClass, RingKind
from support import ring as r
from support.base import UNKNOWN_VERSION, ethernet, frame, ipv4

MUCH = 1 << 30  # bytes, or a second


class AddsToRing(r.RingTest):
    """Numbered by ringlet and add queue."""

    def runTest(self):
        self.switch.insert("ring_way", {"station": 7}, "reach", ringlet=1, hops=4)
        self.switch.insert("ipv4_route", {"dst": (0x0A070000, 16)}, "to_station", station=7)
        for sequence in (1, 2):
            self.send_ip()
            self.expect_added(sequence=sequence)
        self.send_ip(0x0A070001)
        self.expect(
            r.WEST,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=r.MAC),
            r.ring(ringlet=1, destination=7),
            wire.RingData(queue=4, inner_type=wire.ETHERTYPE_IPV4, sequence=1),
            ipv4(0x0A070001, r.PAYLOAD, ttl=63),
            r.PAYLOAD,
        )
        self.expect_silence()


class WeightTravels(r.RingTest):
    weight = 5

    def runTest(self):
        self.send_ip()
        self.expect_added()


class FromHostToHost(r.RingTest):
    def runTest(self):
        self.send_ip(r.HERE)
        self.expect(
            r.HOST_PORT,
            ethernet(wire.ETHERTYPE_IPV4, dst=r.HOST_MAC, src=r.MAC),
            ipv4(r.HERE, r.PAYLOAD, ttl=63),
            r.PAYLOAD,
        )


class TakesOff(r.RingTest):
    """The destination takes the packet off, from either ringlet."""

    def runTest(self):
        for port, ringlet in ((r.WEST, 0), (r.EAST, 1)):
            self.send(
                port,
                ethernet(wire.ETHERTYPE_OPTICAL),
                r.ring(source=1, destination=r.STATION, ttl=1, ringlet=ringlet),
                wire.RingData(inner_type=wire.ETHERTYPE_IPV4),
                ipv4(r.HERE, r.PAYLOAD, ttl=1 + 1),
                r.PAYLOAD,
            )
            self.expect(
                r.HOST_PORT,
                ethernet(wire.ETHERTYPE_IPV4, dst=r.HOST_MAC, src=r.MAC),
                ipv4(r.HERE, r.PAYLOAD, ttl=2),
                r.PAYLOAD,
            )
        self.expect_silence()


class PassesOn(r.RingTest):
    """Whatever a packet holds, it goes on by the other port, one hop older."""

    def runTest(self):
        self.pass_through(100)
        parts = r.transit(200, source=6, destination=1, ringlet=1)
        self.send(r.EAST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(ttl=6, **parts[0]), *parts[1:])
        self.expect(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(ttl=5, **parts[0]), *parts[1:])
        self.expect_silence()


class PassesOnOtherPayloads(r.RingTest):
    """IPv4 that is cut short or odd is none of this station's business."""

    def runTest(self):
        whole = frame(
            ethernet(wire.ETHERTYPE_OPTICAL),
            r.ring(source=1, ttl=7),
            wire.RingData(inner_type=wire.ETHERTYPE_IPV4),
            ipv4(r.THERE, r.PAYLOAD, ttl=1),
            r.PAYLOAD,
        )
        self.send(r.WEST, whole)
        self.expect(r.EAST, whole[:15] + bytes([6]) + whole[16:])


class ComesRound(r.RingTest):
    def runTest(self):
        parts = r.transit(100, source=r.STATION)
        self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(ttl=1, **parts[0]), *parts[1:])
        self.expect_drop(DropReason.RETURNED)


class TtlExpires(r.RingTest):
    def runTest(self):
        for ttl in (0, 1):
            parts = r.transit(100, source=1)
            self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(ttl=ttl, **parts[0]), *parts[1:])
        self.send_ip(ttl=1)
        self.expect_drop(DropReason.TTL_EXPIRED, 3)


class OfNoStation(r.RingTest):
    def runTest(self):
        parts = r.transit(100, source=r.STATIONS)
        self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(**parts[0]), *parts[1:])
        self.expect_drop(DropReason.NOT_A_MEMBER)


class OnTheWrongRinglet(r.RingTest):
    def runTest(self):
        for port, ringlet in ((r.WEST, 1), (r.EAST, 0), (r.WEST, 2), (r.EAST, 15)):
            parts = r.transit(100, source=1, ringlet=ringlet)
            self.send(port, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(**parts[0]), *parts[1:])
        self.expect_drop(DropReason.BAD_FIELD, 4)


class OtherVersionsAndKinds(r.RingTest):
    def runTest(self):
        self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(version=UNKNOWN_VERSION), bytes(60))
        self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(version=wire.OPTICAL_VERSION), bytes(60))
        self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(kind=RingKind.REPORT), bytes(160))
        self.send(r.WEST, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(kind=9), bytes(60))
        self.expect_drop(DropReason.BAD_VERSION, 4)


class FromWhereNothingComes(r.RingTest):
    """Ring packets of a host, IPv4 on the ring without a ring header, ticks by other ports, ports outside the plan."""

    def runTest(self):
        parts = r.transit(100, source=1)
        self.send(r.HOST_PORT, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(**parts[0]), *parts[1:])
        self.send(r.HOST_PORT, *r.ring_tick(r.EAST, 0, 0, 0, 0, 0))
        self.send(r.HOST_PORT, r.fairness((r.NEXT, 1, 3, 1000)))
        self.send(r.WEST, ethernet(wire.ETHERTYPE_IPV4), ipv4(r.THERE, r.PAYLOAD), r.PAYLOAD)
        self.send(r.WEST, *r.ring_tick(r.EAST, 0, 0, 0, 0, 0))
        self.send(wire.PORT_LINECARD, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(**parts[0]), *parts[1:])
        self.send(258, ethernet(wire.ETHERTYPE_OPTICAL), r.ring(**parts[0]), *parts[1:])
        self.expect_drop(DropReason.UNEXPECTED_PORT, 7)


class Truncated(r.RingTest):
    def runTest(self):
        whole = frame(ethernet(wire.ETHERTYPE_OPTICAL), r.ring(source=1), wire.RingData(inner_type=wire.ETHERTYPE_IPV4))
        self.send(r.WEST, whole[:20])
        self.send(r.WEST, whole[:28])
        self.send(r.EAST, r.fairness((r.NEXT, 1, 3, 1000))[:63])
        self.expect_drop(DropReason.TRUNCATED, 3)


class NoWay(r.RingTest):
    """No route, no station of that number, a way that leads nowhere; not IPv4."""

    def runTest(self):
        self.send_ip(0x0B000001)
        self.switch.insert("ipv4_route", {"dst": (0x0A050000, 16)}, "to_station", station=5)
        self.send_ip(0x0A050001)
        self.send(r.HOST_PORT, ethernet(0x86DD), r.PAYLOAD)
        self.send(
            r.WEST,
            ethernet(wire.ETHERTYPE_OPTICAL),
            r.ring(source=1, destination=r.STATION),
            wire.RingData(inner_type=0x88B7),
            r.PAYLOAD,
        )
        self.expect_drop(DropReason.NO_ROUTE, 4)


class WaysThatAreNone(r.RingTest):
    def runTest(self):
        for station, ringlet, hops in ((1, 2, 1), (2, 0, 0)):
            self.switch.insert("ipv4_route", {"dst": (0x0B000000 + station, 32)}, "to_station", station=station)
            self.switch.insert("ring_way", {"station": station}, "reach", ringlet=ringlet, hops=hops)
            self.send_ip(0x0B000000 + station)
        self.expect_drop(DropReason.BAD_FIELD, 2)


class Misdirected(r.RingTest):
    """It came for a host of this station, but its host is elsewhere."""

    def runTest(self):
        self.send(
            r.WEST,
            ethernet(wire.ETHERTYPE_OPTICAL),
            r.ring(source=1, destination=r.STATION),
            wire.RingData(inner_type=wire.ETHERTYPE_IPV4),
            ipv4(r.THERE, r.PAYLOAD),
            r.PAYLOAD,
        )
        self.expect_drop(DropReason.MISDIRECTED)


class AnswersArp(r.RingTest):
    def runTest(self):
        request = wire.ArpIpv4(
            hw_type=1,
            proto_type=wire.ETHERTYPE_IPV4,
            hw_len=6,
            proto_len=4,
            opcode=wire.ARP_REQUEST,
            sender_mac=r.HOST_MAC,
            sender_ip=r.HERE,
            target_ip=r.THERE,
        )
        self.send(r.HOST_PORT, ethernet(wire.ETHERTYPE_ARP, src=r.HOST_MAC), request)
        reply = {
            **request.__dict__,
            "opcode": wire.ARP_REPLY,
            "sender_mac": r.MAC,
            "sender_ip": r.THERE,
            "target_mac": r.HOST_MAC,
            "target_ip": r.HERE,
        }
        self.expect(r.HOST_PORT, ethernet(wire.ETHERTYPE_ARP, dst=r.HOST_MAC, src=r.MAC), wire.ArpIpv4(**reply))


class PacketOut(r.RingTest):
    def runTest(self):
        whole = frame(ethernet(0x88B7), r.PAYLOAD)
        self.switch.packet_out(r.EAST, whole)
        self.expect(r.EAST, whole)
        self.switch.packet_out(wire.PORT_SELF, whole)
        self.expect_drop(DropReason.UNEXPECTED_PORT)


class ClassTest(r.RingTest):
    """The class of all that the host sends, and its meter: `cir` of 1 byte/s is none, MUCH is enough."""

    def set_class(self, traffic_class, cir=None, pir=MUCH):
        self.switch.insert("traffic_class", {}, "set_class", priority=1, traffic_class=traffic_class)
        if cir is not None:
            self.switch.set_meter("ingress_rate", 4 * r.HOST_PORT + traffic_class, cir, cir, pir, pir)


class CommittedWithinItsRate(ClassTest):
    def runTest(self):
        self.set_class(RingClass.COMMITTED)
        self.send_ip()
        self.expect_added(traffic_class=RingClass.COMMITTED)


class CommittedAboveItsRateIsExcess(ClassTest):
    def runTest(self):
        self.set_class(RingClass.COMMITTED, cir=1)
        self.send_ip()
        self.expect_added(traffic_class=RingClass.EXCESS)


class ReservedAboveItsRateIsRefused(ClassTest):
    def runTest(self):
        self.set_class(RingClass.RESERVED, cir=1)
        self.send_ip()
        self.expect_drop(DropReason.POLICED)


class ReservedWithinItsRate(ClassTest):
    def runTest(self):
        self.set_class(RingClass.RESERVED)
        self.send_ip()
        self.expect_added(traffic_class=RingClass.RESERVED)


class BestEffortIsPolicedByItsPeakRate(ClassTest):
    def runTest(self):
        self.switch.set_meter("ingress_rate", 4 * r.HOST_PORT, 1, 1, MUCH, MUCH)
        self.send_ip()
        self.expect_added()
        self.switch.set_meter("ingress_rate", 4 * r.HOST_PORT, 1, 1, 1, 1)
        self.send_ip()
        self.expect_drop(DropReason.POLICED)


class NoSuchClass(ClassTest):
    def runTest(self):
        self.set_class(9)
        self.send_ip()
        self.expect_drop(DropReason.POLICED)
