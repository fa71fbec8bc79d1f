# SPDX-License-Identifier: Apache-2.0
"""Joining by invitation and following the master's clock, as docs/protocols.md says."""

from slotwise import wire
from slotwise.wire import DropReason, FaultCode, FlowOp, LineCardKind, OpticalKind
from support import edge as e
from support.base import ethernet, frame, linecard, optical, sealed

NONCE, RECEIVED_NS, ANSWER_NS, MARGIN_NS = 70, 5_000, 300_000, 1_000
HOLD_FRAMES, FRAME = 3, 40
PHASE_NS = -123_456
OWN_PHASE_NS = 10_000
UNSIGNED = 1 << 64


def light(kind, *headers, src_edge, dst_edge):
    return (
        ethernet(wire.ETHERTYPE_OPTICAL),
        optical(kind, src_edge=src_edge, dst_edge=dst_edge, queue=wire.SIGNALING_QUEUE),
        *headers,
    )


class MemberTest(e.EdgeTest):
    """A slave that joins by invitation."""

    out_of_band = 0

    def setUp(self):
        super().setUp()
        self.switch.set_default(
            "membership", "by_invitation", fault_port=wire.PORT_CPU, margin_ns=MARGIN_NS, out_of_band=self.out_of_band
        )

    def told(self, kind, *headers):
        """What the master tells it, or out of band the controller."""
        self.from_master(kind, *headers)

    def from_master(self, kind, *headers, src_edge=e.MASTER):
        self.send(e.FIBRE, *light(kind, *headers, src_edge=src_edge, dst_edge=e.SLAVE))

    def invite(self, nonce=NONCE, mac=e.MAC, answer_ns=ANSWER_NS, **fields):
        self.from_master(
            OpticalKind.INVITATION,
            wire.Stamp(received_ns=RECEIVED_NS),
            wire.Invitation(nonce=nonce, mac=mac, flags=0, answer_ns=answer_ns),
            **fields,
        )

    def configure(
        self,
        session=NONCE,
        phase_ns=PHASE_NS,
        slot_ns=e.SLOT_NS,
        guard_ns=e.GUARD_NS,
        slots=20,
        hold_frames=HOLD_FRAMES,
    ):
        self.told(
            OpticalKind.CONFIGURATION,
            wire.Configuration(
                session=session,
                slot_ns=slot_ns,
                guard_ns=guard_ns,
                slots=slots,
                hold_frames=hold_frames,
                phase_ns=phase_ns % UNSIGNED,
            ),
        )

    def measured(self, frame_number, phase_ns, session=NONCE, edge_ns=1_000, received_ns=2_000):
        self.told(
            OpticalKind.SYNC,
            wire.Stamp(received_ns=received_ns),
            wire.Sync(session=session, frame=frame_number, edge_ns=edge_ns, phase_ns=phase_ns % UNSIGNED),
        )

    def expect_control(self, op, open_ns=0, close_ns=0, value=0):
        self.expect(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(LineCardKind.FLOW_CONTROL),
            wire.FlowControl(
                queue=wire.SIGNALING_QUEUE, op=op, open_ns=open_ns, close_ns=close_ns % UNSIGNED, value=value % UNSIGNED
            ),
        )

    def answer(self):
        """Invited, and asked by the line card."""
        self.invite()
        self.expect_control(FlowOp.OPEN_AND_TICK, RECEIVED_NS + ANSWER_NS, RECEIVED_NS + ANSWER_NS + e.SLOT_NS)
        self.tick(wire.ANSWER_SLOT, repeat=1)
        self.expect(e.FIBRE, *self.answered())

    def answered(self, nonce=NONCE, sequence=1):
        return (
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(
                OpticalKind.INVITATION,
                src_edge=e.SLAVE,
                dst_edge=e.MASTER,
                queue=wire.SIGNALING_QUEUE,
                sequence=sequence,
            ),
            wire.Stamp(),
            wire.Invitation(nonce=nonce, mac=e.MAC, flags=wire.INVITATION_ANSWER, answer_ns=0),
        )

    def join(self):
        self.answer()
        self.configure()
        self.expect_control(FlowOp.SET_PHASE, value=PHASE_NS)
        self.tick(e.SLOT, frame_number=FRAME)
        self.handled(wire.PORT_LINECARD)


class Joins(MemberTest):
    """It answers once, takes the configuration of its own invitation once, and then uses its signaling slot."""

    def runTest(self):
        self.switch.insert("slot_schedule", {"core": 0, "bank": 0, "slot": 1}, "grant", queue=wire.SIGNALING_QUEUE)
        self.tick(1, frame_number=FRAME)
        self.await_drops(DropReason.UNSYNCHRONIZED, 1)
        self.answer()
        self.configure(session=NONCE + 1)
        self.await_drops(DropReason.NOT_A_MEMBER, 1)
        self.configure()
        self.expect_control(FlowOp.SET_PHASE, value=PHASE_NS)
        self.configure()
        self.await_drops(DropReason.STALE, 1)
        self.tick(1, frame_number=FRAME, local_ns=7)
        # Acquiring: a whole guard clear on either side.
        self.expect_control(FlowOp.OPEN, 7 + 2 * e.GUARD_NS, 7 + e.SLOT_NS - e.GUARD_NS)
        self.expect_silence()


class RefusesInvitations(MemberTest):
    def runTest(self):
        self.invite(mac=e.MAC + 1)
        self.invite(src_edge=e.REMOTE)
        self.await_drops(DropReason.NOT_A_MEMBER, 2)
        self.invite(answer_ns=wire.MAX_ANSWER_NS + 1)
        self.await_drops(DropReason.BAD_FIELD, 1)
        self.answer()
        self.invite()
        self.invite(nonce=NONCE - 1)
        self.await_drops(DropReason.STALE, 2)
        self.tick(wire.ANSWER_SLOT, repeat=1)
        self.expect_silence()


class InvitationsByNonce(MemberTest):
    """The first one may have any but 0; nonces are serial numbers, so after the largest the smallest comes."""

    def runTest(self):
        self.invite(nonce=0)
        self.await_drops(DropReason.BAD_FIELD, 1)
        for nonce in (0xFFFF_FFFF, 1):
            self.invite(nonce=nonce)
            self.expect_control(FlowOp.OPEN_AND_TICK, RECEIVED_NS + ANSWER_NS, RECEIVED_NS + ANSWER_NS + e.SLOT_NS)
        self.invite(nonce=0xFFFF_FFFF)
        self.await_drops(DropReason.STALE, 1)
        self.assertEqual((self.drops(DropReason.BAD_FIELD), self.drops(DropReason.STALE)), (1, 1))
        self.expect_silence()


class RefusesConfigurations(MemberTest):
    def runTest(self):
        self.configure()
        self.await_drops(DropReason.NOT_A_MEMBER, 1)
        self.answer()
        bad = [
            dict(slot_ns=e.SLOT_NS + 1),
            dict(guard_ns=e.GUARD_NS + 1),
            dict(guard_ns=e.SLOT_NS),
            dict(slots=0),
            dict(hold_frames=0),
            dict(phase_ns=wire.MAX_PHASE_NS + 1),
            dict(phase_ns=-wire.MAX_PHASE_NS - 1),
        ]
        for fields in bad:
            self.configure(**fields)
        self.await_drops(DropReason.BAD_FIELD, len(bad))
        self.expect_silence()


class FollowsTheClock(MemberTest):
    """The change a frame is that of the first two measurements, then a quarter of each difference is added."""

    def runTest(self):
        self.join()
        self.measured(FRAME, -1_000)
        self.expect_control(FlowOp.SET_PHASE, 1_000, 0, -1_000)
        self.tick(e.SLOT, frame_number=FRAME + 1)
        self.handled(wire.PORT_LINECARD)
        self.measured(FRAME + 1, -1_100, edge_ns=1_500)
        self.expect_control(FlowOp.SET_PHASE, 1_500, -100 << 16, -1_100)
        self.tick(e.SLOT, frame_number=FRAME + 2)
        self.handled(wire.PORT_LINECARD)
        self.measured(FRAME + 2, -1_208)
        self.expect_control(FlowOp.SET_PHASE, 1_000, -102 << 16, -1_208)
        self.expect_silence()


class RefusesMeasurements(MemberTest):
    def runTest(self):
        self.join()
        self.measured(FRAME, 0, session=NONCE + 1)
        self.await_drops(DropReason.NOT_A_MEMBER, 1)
        self.measured(FRAME - 1, 0)
        self.await_drops(DropReason.STALE, 1)
        self.measured(FRAME + 1, 0)
        self.measured(FRAME, wire.MAX_PHASE_NS + 1)
        self.measured(FRAME, 0, edge_ns=3_000)
        self.await_drops(DropReason.BAD_FIELD, 3)
        self.expect_silence()


class LeavesAtAJump(MemberTest):
    """A measurement a guard off what was expected: neither can be trusted."""

    def runTest(self):
        self.join()
        self.measured(FRAME, 0)
        self.expect_control(FlowOp.SET_PHASE, 1_000, 0, 0)
        self.tick(e.SLOT, frame_number=FRAME + 1)
        self.handled(wire.PORT_LINECARD)
        self.measured(FRAME + 1, e.GUARD_NS + 1)
        self.expect_control(FlowOp.STOP)
        self.measured(FRAME + 1, 0)
        self.await_drops(DropReason.NOT_A_MEMBER, 1)
        self.configure()  # replayed: it is used up
        self.await_drops(DropReason.STALE, 1)
        self.expect_silence()


class LeavesUnmeasured(MemberTest):
    def runTest(self):
        self.join()
        for frame_number in range(FRAME + 1, FRAME + HOLD_FRAMES):
            self.tick(e.SLOT, frame_number=frame_number)
        self.handled(wire.PORT_LINECARD)
        self.tick(e.SLOT, frame_number=FRAME + HOLD_FRAMES)
        self.expect_control(FlowOp.STOP)
        self.expect_silence()


class TellsFaults(MemberTest):
    def runTest(self):
        self.join()
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(LineCardKind.ALARM),
            wire.Alarm(code=FaultCode.LOSS_OF_SIGNAL, flags=0),
        )
        self.expect_packet_in(
            wire.PORT_LINECARD,
            *light_with_sequence(
                wire.Fault(session=NONCE, frame=FRAME, code=FaultCode.LOSS_OF_SIGNAL, flags=0, edge=e.SLAVE)
            ),
        )
        self.expect_silence()


def light_with_sequence(header):
    return (
        ethernet(wire.ETHERTYPE_OPTICAL),
        optical(OpticalKind.FAULT, src_edge=e.SLAVE, dst_edge=e.MASTER, queue=wire.SIGNALING_QUEUE, sequence=2),
        header,
    )


class LeavesAtShutdown(MemberTest):
    """In-band, and out of band by the same check; of another session it is refused."""

    def runTest(self):
        self.join()
        shutdown = dict(frame=FRAME, code=FaultCode.SHUTDOWN, flags=0, edge=e.MASTER)
        self.from_master(OpticalKind.FAULT, wire.Fault(session=NONCE + 1, **shutdown))
        self.await_drops(DropReason.NOT_A_MEMBER, 1)
        parts = light(OpticalKind.FAULT, wire.Fault(session=NONCE, **shutdown), src_edge=e.MASTER, dst_edge=e.SLAVE)
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*parts)))
        self.expect_control(FlowOp.STOP)
        self.expect_silence()


class RefusesShutdowns(MemberTest):
    """Of another frame, one that says that it is over, another fault, another edge's."""

    def runTest(self):
        self.join()
        shutdown = dict(session=NONCE, frame=FRAME, code=FaultCode.SHUTDOWN, flags=0, edge=e.MASTER)
        bad = [dict(frame=FRAME + wire.FRAME_LEAD + 1), dict(flags=1), dict(code=FaultCode.POWER), dict(edge=e.REMOTE)]
        for fields in bad:
            self.from_master(OpticalKind.FAULT, wire.Fault(**{**shutdown, **fields}))
        self.await_drops(DropReason.BAD_FIELD, len(bad))
        self.from_master(
            OpticalKind.FAULT, wire.Fault(**{**shutdown, "frame": (FRAME - wire.FRAME_WINDOW - 1) % (1 << 32)})
        )
        self.await_drops(DropReason.STALE, 1)
        self.assertEqual((self.drops(DropReason.BAD_FIELD), self.drops(DropReason.STALE)), (len(bad), 1))
        self.expect_silence()


class RefusesBeacons(MemberTest):
    """Before it has joined; what it then refuses is in test_replay.py."""

    def runTest(self):
        self.beacon(frame=FRAME)
        self.expect_drop(DropReason.NOT_A_MEMBER)


class Measures(e.MasterTest):
    """The master measures members, tells the controller at once and the edge in its next slot, once."""

    def runTest(self):
        self.switch.set_default("membership", "inviting", own_phase_ns=OWN_PHASE_NS)
        self.switch.insert("member", {"edge": e.SLAVE, "port": e.FIBRE}, "accept_session", session=NONCE)
        self.switch.insert(
            "signaling", {"core": 0, "slot": e.SLAVE, "repeat": 1}, "send_sync", edge=e.SLAVE, port=e.FIBRE
        )
        self.tick(0, frame_number=FRAME)
        self.handled(wire.PORT_LINECARD)

        def sync(frame_number=FRAME, session=NONCE, src_edge=e.SLAVE):
            return light(
                OpticalKind.SYNC,
                wire.Stamp(sent_ns=1_000, received_ns=500),
                wire.Sync(session=session, frame=frame_number, edge_ns=0, phase_ns=0),
                src_edge=src_edge,
                dst_edge=e.MASTER,
            )

        self.send(e.FIBRE, *sync(src_edge=e.REMOTE))
        self.send(e.FIBRE, *sync(session=NONCE + 1))
        self.await_drops(DropReason.NOT_A_MEMBER, 2)
        self.send(e.FIBRE, *sync())
        self.expect_packet_in(e.FIBRE, *sync())
        self.send(e.FIBRE, *sync())
        self.send(e.FIBRE, *sync(frame_number=FRAME - 2))
        self.send(e.FIBRE, *sync(frame_number=FRAME + 1))
        self.await_drops(DropReason.STALE, 3)
        self.tick(e.SLAVE, frame_number=FRAME, repeat=1)
        self.expect(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(OpticalKind.SYNC, src_edge=e.MASTER, dst_edge=e.SLAVE, queue=wire.SIGNALING_QUEUE, sequence=1),
            wire.Stamp(),
            wire.Sync(session=NONCE, frame=FRAME, edge_ns=1_000, phase_ns=(-500 - OWN_PHASE_NS) % UNSIGNED),
        )
        self.tick(e.SLAVE, frame_number=FRAME, repeat=1)
        self.expect_silence()


class MeasuresANewSession(e.MasterTest):
    """Frames of an earlier session do not matter, however far they are."""

    def runTest(self):
        self.switch.set_default("membership", "inviting", own_phase_ns=OWN_PHASE_NS)
        self.switch.insert("member", {"edge": e.SLAVE, "port": e.FIBRE}, "accept_session", session=NONCE)
        later = 1 << 31
        self.tick(0, frame_number=later)
        self.handled(wire.PORT_LINECARD)
        parts = light(
            OpticalKind.SYNC,
            wire.Stamp(sent_ns=1_000, received_ns=500),
            wire.Sync(session=NONCE, frame=later, edge_ns=0, phase_ns=0),
            src_edge=e.SLAVE,
            dst_edge=e.MASTER,
        )
        self.send(e.FIBRE, *parts)
        self.expect_packet_in(e.FIBRE, *parts)


class StaticMembersTakeNoOrders(e.EdgeTest):
    """Without membership by invitation nothing of this is taken."""

    def runTest(self):
        for kind, headers in (
            (OpticalKind.INVITATION, (wire.Stamp(), wire.Invitation(nonce=1, mac=e.MAC, flags=0, answer_ns=0))),
            (OpticalKind.CONFIGURATION, (wire.Configuration(),)),
            (OpticalKind.SYNC, (wire.Stamp(), wire.Sync())),
            (OpticalKind.FAULT, (wire.Fault(),)),
        ):
            self.send(e.FIBRE, *light(kind, *headers, src_edge=e.MASTER, dst_edge=e.SLAVE))
        self.expect_drop(DropReason.NOT_A_MEMBER, 4)
