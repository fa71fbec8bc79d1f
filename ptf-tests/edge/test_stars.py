# SPDX-License-Identifier: Apache-2.0
"""An edge in several stars, demand shared over cores, and beacons out of band."""

from slotwise import wire
from slotwise.wire import DropReason
from support import edge as e
from support.base import DEADLINE_S, ethernet, frame, ipv4, optical, sealed

FIRST, SECOND = 0, 1  # cores
OLD_QUEUE, NEW_QUEUE = 2, 3
SECOND_FIBRE = wire.PORT_OPTICAL_BASE + SECOND
REMOTE_NET, REMOTE_HOST = 0x0A020000, 0x0A020001
FLOWS = 200


def card(core):
    return wire.Linecard(
        version=wire.LINECARD_VERSION, kind=wire.LineCardKind.SLOT_TICK, port=wire.PORT_OPTICAL_BASE + core
    )


class TwoStars(e.EdgeTest):
    """Edge 1: a slave in the star of core 0, the master in that of core 1."""

    def setUp(self):
        super().setUp()
        self.switch.insert(
            "edge_params",
            {"core": SECOND},
            "set_edge_params",
            edge_id=self.edge,
            is_master=1,
            master=self.edge,
            mac=e.MAC,
            guard_ns=e.GUARD_NS,
            slot_ns=e.SLOT_NS,
            beacon_hold_frames=e.HOLD_FRAMES,
        )
        for core in (FIRST, SECOND):
            self.switch.insert(
                "slot_schedule", {"core": core, "bank": 0, "slot": e.SLOT}, "grant", queue=OLD_QUEUE + 16 * core
            )
            self.switch.insert(
                "slot_schedule", {"core": core, "bank": 1, "slot": e.SLOT}, "grant", queue=NEW_QUEUE + 16 * core
            )

    def tick_of(self, core, slot, frame_number, repeat=0):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            card(core),
            wire.SlotTick(frame=frame_number, slot=slot, repeat=repeat),
        )

    def expect_open_of(self, core, queue):
        self.expect(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(
                version=wire.LINECARD_VERSION, kind=wire.LineCardKind.FLOW_CONTROL, port=wire.PORT_OPTICAL_BASE + core
            ),
            wire.FlowControl(queue=queue, op=wire.FlowOp.OPEN, open_ns=e.GUARD_NS, close_ns=e.SLOT_NS),
        )


class BeaconOfOneStar(TwoStars):
    """Core 0's master changes its schedule: core 1's stays as it is."""

    def runTest(self):
        self.at(5)
        self.beacon(frame=5, active_version=1, next_version=1, first_frame=5)
        self.tick_of(FIRST, e.SLOT, 5)
        self.expect_open_of(FIRST, NEW_QUEUE)
        self.tick_of(SECOND, e.SLOT, 5)
        self.expect_open_of(SECOND, OLD_QUEUE + 16)
        self.expect_silence()


class CommitNamesItsStar(TwoStars):
    def runTest(self):
        header = optical(wire.OpticalKind.COMMIT, dst_edge=self.edge, queue=wire.SIGNALING_QUEUE, core=SECOND)
        self.switch.packet_out(
            wire.PORT_SELF, sealed(frame(ethernet(wire.ETHERTYPE_OPTICAL), header, wire.Commit(next_version=1)))
        )
        self.packet_outs_handled(e.OTHER_HOST_PORT)
        self.tick_of(SECOND, 0, 6)  # announced
        self.tick_of(SECOND, e.SLOT, 7)
        self.expect_open_of(SECOND, NEW_QUEUE + 16)
        self.at(7)
        self.beacon(frame=7)
        self.tick_of(FIRST, e.SLOT, 7)
        self.expect_open_of(FIRST, OLD_QUEUE)


class SlaveOfOneStarStagesNothingThere(TwoStars):
    def runTest(self):
        self.commit(next_version=1)
        self.expect_drop(DropReason.BAD_COMMIT)


class BeaconByTheWrongFibre(TwoStars):
    """In core 1's star this edge is the master: nobody tells it anything."""

    def runTest(self):
        self.send(SECOND_FIBRE, *e.beacon(e.MASTER, e.SLAVE, next_version=1))
        self.expect_drop(DropReason.BAD_COMMIT)


class NoSuchStar(e.MasterTest):
    def runTest(self):
        beyond = wire.MAX_CORES
        self.send(wire.PORT_LINECARD, ethernet(wire.ETHERTYPE_LINECARD), card(beyond), wire.SlotTick())
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=wire.LineCardKind.SLOT_TICK, port=e.HOST_PORT),
            wire.SlotTick(),
        )
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)


class CommitForNoSuchStar(e.MasterTest):
    def runTest(self):
        header = optical(wire.OpticalKind.COMMIT, queue=wire.SIGNALING_QUEUE, core=wire.MAX_CORES)
        self.switch.packet_out(
            wire.PORT_SELF, sealed(frame(ethernet(wire.ETHERTYPE_OPTICAL), header, wire.Commit(next_version=1)))
        )
        self.expect_drop(DropReason.BAD_FIELD)


class ShareTest(e.EdgeTest):
    """Edge 2 is reached over both cores: parts 0 to 7 by the first, 8 to 15 by the second."""

    parts = range(wire.SHARES)

    def setUp(self):
        super().setUp()
        self.switch.insert("ipv4_route", {"dst": (REMOTE_NET, 16)}, "to_edge", edge=e.REMOTE)
        self.switch.insert("voq", {"dst_edge": e.REMOTE, "class": 0}, "share", shares=e.REMOTE)
        for part in self.parts:
            core = part // (wire.SHARES // 2)
            self.switch.insert(
                "voq_share",
                {"shares": e.REMOTE, "part": part},
                "enqueue",
                queue=e.REMOTE + 16 * core,
                port=e.FIBRE + core,
            )

    def send_flow(self, port):
        ports = port.to_bytes(2, "big") + (80).to_bytes(2, "big")
        self.send(
            e.HOST_PORT,
            ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC),
            ipv4(REMOTE_HOST, ports, protocol=wire.IP_PROTOCOL_UDP),
            ports,
        )

    def core_of_next(self):
        result = self.dataplane.poll(device_number=0, timeout=5)
        self.assertIn(result.port, (e.FIBRE, SECOND_FIBRE))
        header = wire.Optical.decode(result.packet[wire.Ethernet.SIZE :])
        core = result.port - e.FIBRE
        self.assertEqual(header.queue, e.REMOTE + 16 * core)
        return core


class FlowsAreSharedAndStay(ShareTest):
    def runTest(self):
        chosen = []
        for port in range(FLOWS):
            self.send_flow(port)
            chosen.append(self.core_of_next())
        # 200 flows over 16 parts: a fair hash is a third off with a probability below 1e-5.
        self.assertTrue(FLOWS // 3 < sum(chosen) < 2 * FLOWS // 3, sum(chosen))
        for port, core in enumerate(chosen[:20]):
            self.send_flow(port)
            self.assertEqual(self.core_of_next(), core)


class FragmentsGoOneWay(ShareTest):
    """Only a first fragment has ports; flows that would go both ways do not take it away from the others."""

    def runTest(self):
        ways = set()
        for port in range(32):
            ports = port.to_bytes(2, "big") + (80).to_bytes(2, "big")
            for place in (dict(flags=1), dict(flags=1, frag_offset=1), dict(frag_offset=2)):
                self.send(
                    e.HOST_PORT,
                    ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC),
                    ipv4(REMOTE_HOST, ports, protocol=wire.IP_PROTOCOL_UDP, **place),
                    ports,
                )
                ways.add(self.core_of_next())
        self.assertEqual(len(ways), 1)


class PartWithoutACore(ShareTest):
    parts = ()

    def runTest(self):
        self.send_flow(1)
        self.expect_drop(DropReason.NO_VOQ)


class OutOfBandTest(e.EdgeTest):
    def setUp(self):
        super().setUp()
        self.switch.set_default("membership", "out_of_band")
        self.grant(bank=0, slot=e.SLOT, queue=OLD_QUEUE)
        self.grant(bank=1, slot=e.SLOT, queue=NEW_QUEUE)
        self.tick(e.SLOT, frame_number=10)  # dark: no beacon yet
        self.await_drops(DropReason.UNSYNCHRONIZED, 1)

    def told(self, src_edge=e.MASTER, **fields):
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*e.beacon(src_edge, e.SLAVE, **fields))))
        self.packet_outs_handled(e.OTHER_HOST_PORT)


class BeaconFromTheController(OutOfBandTest):
    def runTest(self):
        self.told(frame=10, active_version=0, next_version=1, first_frame=11)
        self.tick(e.SLOT, frame_number=10)
        self.expect_open(OLD_QUEUE)
        self.tick(e.SLOT, frame_number=11)
        self.expect_open(NEW_QUEUE)
        self.tick(e.SLOT, frame_number=12)
        self.await_drops(DropReason.UNSYNCHRONIZED, 2)
        self.expect_silence()


class BeaconAsLightIsRefusedOutOfBand(OutOfBandTest):
    def runTest(self):
        self.beacon(frame=10, next_version=1)
        self.assertEqual(self.drops(DropReason.BAD_COMMIT), 1)
        self.expect_silence()


class RequestOutOfBandNamesItsStarAndSaysWhetherThereIsLight(TwoStars):
    def setUp(self):
        super().setUp()
        self.switch.insert("membership", {"core": SECOND}, "out_of_band")
        self.switch.insert(
            "signaling", {"core": SECOND, "slot": 0, "repeat": 1}, "send_request", block=0, port=wire.PORT_CPU
        )

    def request_of(self, frame_number):
        self.tick_of(SECOND, 0, frame_number, repeat=1)
        ingress_port, packet = self.switch.packet_in(DEADLINE_S)
        self.assertEqual(ingress_port, wire.PORT_LINECARD)
        header = wire.Optical.decode(packet[wire.Ethernet.SIZE :])
        self.assertEqual((header.kind, header.core), (wire.OpticalKind.REQUEST, SECOND))
        return wire.Request.decode(packet[wire.Ethernet.SIZE + wire.Optical.SIZE + wire.Check.SIZE :])

    def alarm(self, over):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(
                version=wire.LINECARD_VERSION, kind=wire.LineCardKind.ALARM, port=wire.PORT_OPTICAL_BASE + SECOND
            ),
            wire.Alarm(code=wire.FaultCode.LOSS_OF_SIGNAL, flags=over),
        )

    def runTest(self):
        self.assertEqual(self.request_of(10).flags & wire.REQUEST_NO_LIGHT, 0)
        self.alarm(over=0)
        self.assertEqual(self.request_of(11).flags & wire.REQUEST_NO_LIGHT, wire.REQUEST_NO_LIGHT)
        self.alarm(over=1)
        self.assertEqual(self.request_of(12).flags & wire.REQUEST_NO_LIGHT, 0)


class FaultNamesItsStar(TwoStars):
    """Only the second star is joined by invitation: the first one's line card has nobody to tell."""

    def runTest(self):
        self.switch.insert(
            "membership", {"core": SECOND}, "by_invitation", fault_port=wire.PORT_CPU, margin_ns=1_000, out_of_band=0
        )
        for core in (0, SECOND):
            self.send(
                wire.PORT_LINECARD,
                ethernet(wire.ETHERTYPE_LINECARD),
                wire.Linecard(
                    version=wire.LINECARD_VERSION, kind=wire.LineCardKind.ALARM, port=wire.PORT_OPTICAL_BASE + core
                ),
                wire.Alarm(code=wire.FaultCode.POWER, flags=0),
            )
        _, packet = self.switch.packet_in(DEADLINE_S)
        header = wire.Optical.decode(packet[wire.Ethernet.SIZE :])
        self.assertEqual((header.kind, header.core), (wire.OpticalKind.FAULT, SECOND))
        self.expect_silence()


class BadBeaconsOutOfBand(OutOfBandTest):
    def runTest(self):
        self.told(frame=10)
        self.told(frame=9)
        self.told(frame=10 + wire.FRAME_LEAD + 1)
        self.told(src_edge=e.REMOTE, frame=10)
        self.told(frame=10, active_version=0, next_version=2)
        self.assertEqual(
            [self.drops(reason) for reason in (DropReason.STALE, DropReason.BAD_FIELD, DropReason.BAD_COMMIT)],
            [1, 1, 2],
        )
        self.tick(e.SLOT, frame_number=11)
        self.expect_open(OLD_QUEUE)


class BeaconFromTheControllerInBand(e.EdgeTest):
    """Who was not told to listen to the controller does not."""

    def runTest(self):
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*e.beacon(e.MASTER, e.SLAVE))))
        self.expect_drop(DropReason.BAD_COMMIT)
