# SPDX-License-Identifier: Apache-2.0
"""Joining by invitation where all but light that is measured comes by the controller, as docs/protocols.md says."""

import test_membership as in_band
from slotwise import wire
from slotwise.wire import DropReason, FaultCode, OpticalKind
from support import edge as e
from support.base import DEADLINE_S, frame, sealed

QUEUE = 3


class OutOfBandMemberTest(in_band.MemberTest):
    out_of_band = 1

    def told(self, kind, *headers):
        parts = in_band.light(kind, *headers, src_edge=e.MASTER, dst_edge=e.SLAVE)
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*parts)))
        self.packet_outs_handled(e.OTHER_HOST_PORT)


class JoinsOutOfBand(OutOfBandMemberTest, in_band.Joins):
    pass


class RefusesConfigurationsOutOfBand(OutOfBandMemberTest, in_band.RefusesConfigurations):
    pass


class FollowsTheClockOutOfBand(OutOfBandMemberTest, in_band.FollowsTheClock):
    pass


class RefusesMeasurementsOutOfBand(OutOfBandMemberTest, in_band.RefusesMeasurements):
    pass


class LeavesAtAJumpOutOfBand(OutOfBandMemberTest, in_band.LeavesAtAJump):
    pass


class InvitationMustBeLight(OutOfBandMemberTest):
    """Its answer is timed by it, and nothing times a packet-out."""

    def runTest(self):
        self.told(
            OpticalKind.INVITATION,
            wire.Stamp(),
            wire.Invitation(nonce=in_band.NONCE, mac=e.MAC, flags=0, answer_ns=in_band.ANSWER_NS),
        )
        self.assertEqual(self.drops(DropReason.BAD_VERSION), 1)
        self.expect_silence()


class MemberTakesBeaconsOfTheController(OutOfBandMemberTest):
    """When it has joined, and none that are light."""

    def runTest(self):
        beacon = wire.Commit(frame=in_band.FRAME, active_version=0, next_version=0)
        self.grant(bank=0, slot=e.SLOT, queue=QUEUE)
        self.told(OpticalKind.COMMIT, beacon)
        self.assertEqual(self.drops(DropReason.NOT_A_MEMBER), 1)
        self.join()
        for number in range(2):
            self.measured(in_band.FRAME + number, 0)
            self.expect_control(wire.FlowOp.SET_PHASE, 1_000)
            self.tick(e.SLOT, frame_number=in_band.FRAME + number + 1)
        self.from_master(OpticalKind.COMMIT, beacon)
        self.await_drops(DropReason.BAD_COMMIT, 1)
        self.tick(e.SLOT, frame_number=in_band.FRAME + 1)
        self.handled(wire.PORT_LINECARD)
        self.told(OpticalKind.COMMIT, wire.Commit(frame=in_band.FRAME + 1, active_version=0, next_version=0))
        self.tick(e.SLOT, frame_number=in_band.FRAME + 2, local_ns=7)
        self.expect(
            wire.PORT_LINECARD,
            in_band.ethernet(wire.ETHERTYPE_LINECARD),
            in_band.linecard(wire.LineCardKind.FLOW_CONTROL),
            wire.FlowControl(
                queue=QUEUE,
                op=wire.FlowOp.OPEN,
                open_ns=7 + e.GUARD_NS + in_band.MARGIN_NS,
                close_ns=7 + e.SLOT_NS - in_band.MARGIN_NS,
            ),
        )


class MasterTellsTheControllerThatItEnds(e.MasterTest):
    """In place of the beacon, which also goes by the controller."""

    def runTest(self):
        self.switch.set_default("membership", "inviting", own_phase_ns=in_band.OWN_PHASE_NS)
        self.switch.insert(
            "signaling", {"core": 0, "slot": 0, "repeat": 2}, "send_commit", edge=e.SLAVE, port=wire.PORT_CPU
        )
        self.at(in_band.FRAME)
        self.assertEqual(self.said(), OpticalKind.COMMIT)
        order = wire.Fault(session=0, frame=in_band.FRAME, code=FaultCode.SHUTDOWN, flags=0, edge=e.MASTER)
        parts = in_band.light(OpticalKind.FAULT, order, src_edge=e.MASTER, dst_edge=e.MASTER)
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*parts)))
        self.packet_outs_handled(e.OTHER_HOST_PORT)
        self.assertEqual(self.said(), OpticalKind.FAULT)

    def said(self):
        self.tick(0, frame_number=in_band.FRAME, repeat=2)
        ingress_port, packet = self.switch.packet_in(DEADLINE_S)
        self.assertEqual(ingress_port, wire.PORT_LINECARD)
        header = wire.Optical.decode(packet[wire.Ethernet.SIZE :])
        self.assertEqual((header.src_edge, header.dst_edge), (e.MASTER, e.SLAVE))
        return header.kind
