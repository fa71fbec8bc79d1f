# SPDX-License-Identifier: Apache-2.0
"""Light that ends at an edge."""

from slotwise import wire
from slotwise.wire import DropReason, OpticalKind
from support import edge as e
from support.base import UNKNOWN_VERSION, ethernet, frame, ipv4, optical

HOST = 0x0A010001
PAYLOAD = b"light"


class FibreTest(e.EdgeTest):
    def setUp(self):
        super().setUp()
        self.switch.insert("ipv4_route", {"dst": (HOST, 32)}, "to_host", port=e.HOST_PORT, mac=e.HOST_MAC)
        self.switch.insert("ipv4_route", {"dst": (0x0A020000, 16)}, "to_edge", edge=e.REMOTE)

    def send_light(self, header, *rest):
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_OPTICAL), header, *rest)


def data(dst_edge=e.SLAVE, inner_type=wire.ETHERTYPE_IPV4):
    return optical(OpticalKind.DATA, src_edge=e.REMOTE, dst_edge=dst_edge, queue=1, sequence=1, inner_type=inner_type)


class ToHost(FibreTest):
    """The far end takes the optical header off; the packet has lost its hop where it came in."""

    def runTest(self):
        header = ipv4(HOST, PAYLOAD, ttl=1)
        self.send_light(data(), header, PAYLOAD)
        self.expect(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.HOST_MAC, src=e.MAC), header, PAYLOAD)
        self.expect_silence()


class Misdirected(FibreTest):
    """Light for another edge, by its optical header or by its route."""

    def runTest(self):
        self.send_light(data(dst_edge=e.REMOTE), ipv4(HOST))
        self.send_light(data(), ipv4(0x0A020001))
        self.expect_drop(DropReason.MISDIRECTED, 2)


class NoRouteForLight(FibreTest):
    def runTest(self):
        self.send_light(data(), ipv4(0xC0A80001))
        self.send_light(data(inner_type=0x86DD), PAYLOAD)
        self.expect_drop(DropReason.NO_ROUTE, 2)


class BadVersion(FibreTest):
    """An unknown version, a kind of the future, a kind beyond the enumeration."""

    def runTest(self):
        self.send_light(wire.Optical(version=UNKNOWN_VERSION, kind=OpticalKind.DATA, dst_edge=e.SLAVE), ipv4(HOST))
        self.send_light(optical(7, dst_edge=e.SLAVE))
        self.send_light(optical(15, dst_edge=e.SLAVE))
        self.expect_drop(DropReason.BAD_VERSION, 3)


class TruncatedLight(FibreTest):
    def runTest(self):
        beacon = frame(*e.beacon(e.MASTER, e.SLAVE))
        request = frame(
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(OpticalKind.REQUEST, dst_edge=e.SLAVE),
            wire.Request(),
            bytes(wire.REQUEST_ENTRIES * wire.RequestEntry.SIZE),
        )
        datagram = frame(ethernet(wire.ETHERTYPE_OPTICAL), data(), ipv4(HOST))
        for whole in (beacon, request, datagram):
            self.send(e.FIBRE, whole[:-1])
        self.send(e.FIBRE, beacon[:20])
        self.expect_drop(DropReason.TRUNCATED, 4)


class NotLight(FibreTest):
    """Neither a plain IPv4 frame nor a line card's message has business on a fibre."""

    def runTest(self):
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_IPV4), ipv4(HOST))
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_LINECARD), bytes(64))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)


class NothingElseConnected(FibreTest):
    """An edge hears nothing by its control link, by its own number, nor by ports outside the plan."""

    def runTest(self):
        for port in (wire.PORT_SELF, wire.PORT_CORE_CONTROL, wire.PORT_LINECARD + 2):
            self.send(port, ethernet(wire.ETHERTYPE_OPTICAL), data(), ipv4(HOST))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 3)
