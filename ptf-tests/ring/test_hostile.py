# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of a station; see edge/test_hostile.py."""

from slotwise import wire
from slotwise.wire import RingMode
from support import ring as r
from support.base import DEADLINE_S, ethernet, frame, ipv4
from support.hostile import Hostile

LAST_NS = 0x0123456789ABCDEF
OUT = [r.HOST_PORT, r.WEST, r.EAST, wire.PORT_LINECARD]


def templates():
    host = frame(ethernet(wire.ETHERTYPE_IPV4, dst=r.MAC), ipv4(r.THERE, r.PAYLOAD), r.PAYLOAD)
    parts = r.transit(900, source=1)
    through = frame(ethernet(wire.ETHERTYPE_OPTICAL), r.ring(ttl=7, **parts[0]), *parts[1:])
    here = frame(
        ethernet(wire.ETHERTYPE_OPTICAL),
        r.ring(source=1, destination=r.STATION),
        wire.RingData(inner_type=wire.ETHERTYPE_IPV4),
        ipv4(r.HERE, r.PAYLOAD),
        r.PAYLOAD,
    )
    ticks = [
        frame(*r.ring_tick(r.EAST, repeat, hol_delay_ns, added, 0, 0))
        for repeat, hol_delay_ns, added in ((0, 0, 900), (0, 2_000_000, 1800), (0, 0, 2700), (1, 0, 0))
    ]
    told = [r.fairness((5, 2, 3, 2_000_000), sequence=sequence) for sequence in (1, 1000, 100_000)]
    told.append(r.fairness((4, 1, 3, 3_000_000), (6, 3, 2, 1_000_000), sequence=1 << 20))
    return (
        [(r.HOST_PORT, host), (r.WEST, through), (r.WEST, through), (r.WEST, here)]
        + [(wire.PORT_LINECARD, tick) for tick in ticks]
        + [(r.EAST, message) for message in told]
    )


class HostileToStation(Hostile, r.RingTest):
    def runTest(self):
        self.assertEqual(self.digest_of(templates(), OUT), DIGESTS[type(self).__name__])


class HostileToStationOfTheController(HostileToStation):
    mode = RingMode.CONTROLLER

    def runTest(self):
        orders = [
            (wire.PORT_CPU, r.fairness_parts((5, 2, 3, 2_000_000), sequence=sequence))
            for sequence in (1, 1000, 100_000)
        ]
        self.assertEqual(self.digest_of(templates() + orders, OUT), DIGESTS[type(self).__name__])

    def packet_ins(self, last, marker_port):
        """All reports; the last one is of a tick that no mutated frame can have been."""
        for repeat in (0, 1):
            tick = frame(*r.ring_tick(r.EAST, repeat, 2_000_000, 0, 0, LAST_NS))
            self.send_and_wait(wire.PORT_LINECARD, tick, marker_port)
        found = []
        while not found or LAST_NS.to_bytes(8, "big") not in found[-1][1]:
            found.append(self.switch.packet_in(DEADLINE_S))
        return [f"packet-in from {port}: {data.hex()}" for port, data in found]


DIGESTS = {
    "HostileToStation": "e88bb9be2777a6533e02f5e066f830b0bb58576c64ce5161def4ff11569ee124",
    "HostileToStationOfTheController": "ee6b54ab27e46785a15547f5735961d86949ae21af8751c673438a42232184c8",
}
