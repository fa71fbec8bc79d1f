// SPDX-License-Identifier: Apache-2.0
// How an edge joins and follows its master's clock (docs/protocols.md). An edge that joins by invitation sends
// nothing before it has joined but the answer to an invitation.
//
//   invitation ──> OPEN_AND_TICK ──> line card ──answer tick──> answer
//   configuration ──> session, SET_PHASE
//   measurement ──> SET_PHASE; none for too long, or a jump ──> STOP ──> alarm ──> fault
#ifndef SLOTWISE_MEMBERSHIP_P4
#define SLOTWISE_MEMBERSHIP_P4
#include "edge_parser.p4"
#include "optical.p4"
#include "version.p4"

register<bit<32>>(MAX_CORES) own_session;     // 0: not joined
register<bit<32>>(MAX_CORES) last_nonce;      // of the newest invitation
register<bit<8>>(MAX_CORES)  answer;          // to the newest invitation
register<bit<32>>(MAX_CORES) own_hold_frames; // as configured
register<bit<32>>(MAX_CORES) measured_frame;  // of the last measurement taken; before the first one, of the first tick
register<bit<64>>(MAX_CORES) measured_phase;  // T_d, ns
register<bit<64>>(MAX_CORES) phase_change;    // 2^-16 ns a frame
register<bit<8>>(MAX_CORES)  measurements;    // how far it has come since the configuration

const bit<8> NO_ANSWER = 0;
const bit<8> ANSWER_DUE = 1;
const bit<8> ANSWER_SENT = 2;

const bit<8> NO_TICK = 0;
const bit<8> NO_MEASUREMENT = 1;
const bit<8> ONE_MEASUREMENT = 2;
const bit<8> MANY_MEASUREMENTS = 3;
// The measurement after the second moves the change a frame by a quarter of what it differs from the expected one.
const bit<8> CHANGE_GAIN_SHIFT = 2;

// Whether this edge joins a star by invitation, or invites; the default action, which the controller sets, is for all
// stars that have no entry. Without it the edge is a member as it is: its line card knows T_d.
control MembershipParams(inout edge_metadata_t meta) {
    // `fault_port`: where faults go, PORT_CPU or a fibre. `margin_ns`: by how much the gates open late and shut early,
    // since T_d is not known to the nanosecond. `out_of_band`: the controller tells the schedule, as below.
    action by_invitation(bit<9> fault_port, bit<64> margin_ns, bit<1> out_of_band) {
        meta.by_invitation = 1;
        meta.fault_port = fault_port;
        meta.margin_ns = margin_ns;
        meta.out_of_band = out_of_band;
    }

    // `own_phase_ns`: the master's own T_d, its fibre's delay.
    action inviting(bit<64> own_phase_ns) {
        meta.inviting = 1;
        meta.own_phase_ns = own_phase_ns;
    }

    // The edge is a member as it is, and hears of the schedule from the controller only.
    action out_of_band() {
        meta.out_of_band = 1;
    }

    table membership {
        key = {
            meta.core: exact @name("core");
        }
        actions = {
            by_invitation;
            inviting;
            out_of_band;
            NoAction;
        }
        default_action = NoAction();
        size = MAX_CORES;
    }

    apply {
        membership.apply();
        meta.session = 0;
        if (meta.core != NO_CORE) {
            own_session.read(meta.session, meta.core);
        }
    }
}

// Turns a control message into one for the line card of the fibre that it came by.
control ToLineCard(inout edge_headers_t hdr,
                   inout standard_metadata_t standard_metadata,
                   in bit<16> port,
                   in FlowOp op,
                   in bit<64> open_ns,
                   in bit<64> close_ns,
                   in bit<64> value) {
    apply {
        hdr.ethernet.ether_type = ETHERTYPE_LINECARD;
        hdr.linecard.setValid();
        hdr.linecard.version = LINECARD_VERSION;
        hdr.linecard.kind = LineCardKind.FLOW_CONTROL;
        hdr.linecard.reserved = 0;
        hdr.linecard.port = port;
        hdr.flow_control.setValid();
        hdr.flow_control.queue = SIGNALING_QUEUE;
        hdr.flow_control.op = op;
        hdr.flow_control.reserved = 0;
        hdr.flow_control.open_ns = open_ns;
        hdr.flow_control.close_ns = close_ns;
        hdr.flow_control.value = value;
        hdr.slot_tick.setInvalid();
        hdr.optical.setInvalid();
        hdr.check.setInvalid();
        hdr.stamp.setInvalid();
        hdr.invitation.setInvalid();
        hdr.configuration.setInvalid();
        hdr.sync.setInvalid();
        hdr.fault.setInvalid();
        standard_metadata.egress_spec = PORT_LINECARD;
    }
}

// The edge has lost its T_d, or its master: it is silent until it has been invited again.
control Leave(inout edge_headers_t hdr,
              inout edge_metadata_t meta,
              inout standard_metadata_t standard_metadata,
              in bit<16> port) {
    ToLineCard() to_line_card;

    apply {
        own_session.write(meta.core, 0);
        to_line_card.apply(hdr, standard_metadata, port, FlowOp.STOP, 0, 0, 0);
    }
}

// An invitation is answered once: the line card is asked for a tick at the time that the master wants.
control TakeInvitation(inout edge_headers_t hdr,
                       inout edge_metadata_t meta,
                       inout standard_metadata_t standard_metadata,
                       in bit<16> port) {
    bit<32> nonce;
    bit<64> open_ns;

    ToLineCard() to_line_card;

    apply {
        last_nonce.read(nonce, meta.core);
        if (hdr.invitation.mac != meta.mac || hdr.invitation.flags != 0) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (nonce != 0 && (int<32>)(hdr.invitation.nonce - nonce) <= 0) {
            meta.drop_reason = DropReason.STALE;
        } else if (hdr.invitation.nonce == 0 || hdr.invitation.answer_ns > MAX_ANSWER_NS) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            own_session.write(meta.core, 0);
            last_nonce.write(meta.core, hdr.invitation.nonce);
            answer.write(meta.core, ANSWER_DUE);
            open_ns = hdr.stamp.received_ns + (bit<64>)hdr.invitation.answer_ns;
            to_line_card.apply(hdr, standard_metadata, port, FlowOp.OPEN_AND_TICK, open_ns, open_ns + meta.slot_ns, 0);
        }
    }
}

// The tick that was asked for becomes the answer.
control AnswerInvitation(inout edge_headers_t hdr,
                         inout edge_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    bit<8> state;

    Encapsulate() encapsulate;

    apply {
        answer.read(state, meta.core);
        if (meta.by_invitation == 0 || meta.session != 0 || state != ANSWER_DUE) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        } else {
            answer.write(meta.core, ANSWER_SENT);
            hdr.stamp.setValid();
            hdr.stamp.sent_ns = 0;
            hdr.stamp.received_ns = 0;
            hdr.invitation.setValid();
            last_nonce.read(hdr.invitation.nonce, meta.core);
            hdr.invitation.mac = meta.mac;
            hdr.invitation.flags = INVITATION_ANSWER;
            hdr.invitation.answer_ns = 0;
            encapsulate.apply(hdr.ethernet, hdr.optical, OpticalKind.INVITATION, 0, meta.edge_id, meta.master, SIGNALING_QUEUE);
            hdr.optical.inner_type = 0;
            standard_metadata.egress_spec = (bit<9>)hdr.linecard.port;
            hdr.linecard.setInvalid();
            hdr.slot_tick.setInvalid();
        }
    }
}

// The edge has joined: its line card's slots begin. The master repeats a configuration until it hears the edge.
control TakeConfiguration(inout edge_headers_t hdr,
                          inout edge_metadata_t meta,
                          inout standard_metadata_t standard_metadata,
                          in bit<16> port) {
    bit<32> nonce;
    bit<8>  state;

    ToLineCard() to_line_card;

    apply {
        last_nonce.read(nonce, meta.core);
        answer.read(state, meta.core);
        if (hdr.configuration.session == 0 || hdr.configuration.session != nonce || state == ANSWER_DUE) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (state == NO_ANSWER) {
            meta.drop_reason = DropReason.STALE;
        } else if (hdr.configuration.slot_ns > MAX_SLOT_NS || hdr.configuration.guard_ns >= hdr.configuration.slot_ns
                   || hdr.configuration.slots == 0 || hdr.configuration.hold_frames == 0
                   || hdr.configuration.phase_ns + MAX_PHASE_NS > 2 * MAX_PHASE_NS) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else if ((bit<64>)hdr.configuration.slot_ns != meta.slot_ns || (bit<64>)hdr.configuration.guard_ns != meta.guard_ns) {
            // The master cuts time otherwise than this edge was told to: its light would miss its slots.
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            // An invitation is used up by the configuration that follows it: an edge that leaves must be invited anew.
            answer.write(meta.core, NO_ANSWER);
            own_session.write(meta.core, hdr.configuration.session);
            own_hold_frames.write(meta.core, (bit<32>)hdr.configuration.hold_frames);
            measurements.write(meta.core, NO_TICK);
            phase_change.write(meta.core, 0);
            to_line_card.apply(hdr, standard_metadata, port, FlowOp.SET_PHASE, 0, 0, hdr.configuration.phase_ns);
        }
    }
}

// T_d follows what the master measured. It changes by about as much in each frame, since clocks differ in rate: that
// change is learnt, and the line card goes on with it until the next measurement.
control TakeMeasurement(inout edge_headers_t hdr,
                        inout edge_metadata_t meta,
                        inout standard_metadata_t standard_metadata,
                        in bit<16> port) {
    bit<32> frame;
    bit<32> last_frame;
    bit<32> frames;
    bit<64> last_phase;
    bit<64> change_bits;
    bit<8>  count;
    int<64> change;
    int<64> expected_q16;
    int<64> difference_q16;
    int<64> tolerated_q16;

    ToLineCard() to_line_card;
    Leave() leave;

    apply {
        current_frame.read(frame, meta.core);
        measured_frame.read(last_frame, meta.core);
        measured_phase.read(last_phase, meta.core);
        phase_change.read(change_bits, meta.core);
        measurements.read(count, meta.core);
        frames = hdr.sync.frame - last_frame;
        if (meta.session == 0 || hdr.sync.session != meta.session || count == NO_TICK) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if ((int<32>)frames <= 0) {
            meta.drop_reason = DropReason.STALE;
        } else if ((int<32>)(hdr.sync.frame - frame) > 0
                   || hdr.stamp.received_ns - hdr.sync.edge_ns > (bit<64>)MAX_ANSWER_NS
                   || hdr.sync.phase_ns + MAX_PHASE_NS > 2 * MAX_PHASE_NS) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            change = (int<64>)change_bits;
            // `frames` is at most hold_frames, of 16 bits: the edge would have left.
            expected_q16 = ((int<64>)last_phase << 16) + change * (int<64>)(bit<64>)frames;
            difference_q16 = ((int<64>)hdr.sync.phase_ns << 16) - expected_q16;
            tolerated_q16 = (int<64>)(meta.guard_ns << 16);
            if (count != NO_MEASUREMENT && (difference_q16 > tolerated_q16 || difference_q16 < -tolerated_q16)) {
                leave.apply(hdr, meta, standard_metadata, port);
            } else {
                if (frames == 1 && count == ONE_MEASUREMENT) {
                    change = difference_q16;
                    count = MANY_MEASUREMENTS;
                } else if (frames == 1 && count == MANY_MEASUREMENTS) {
                    change = change + (difference_q16 >> CHANGE_GAIN_SHIFT);
                } else if (count == NO_MEASUREMENT) {
                    count = ONE_MEASUREMENT;
                }
                measured_frame.write(meta.core, hdr.sync.frame);
                measured_phase.write(meta.core, hdr.sync.phase_ns);
                phase_change.write(meta.core, (bit<64>)change);
                measurements.write(meta.core, count);
                to_line_card.apply(hdr, standard_metadata, port, FlowOp.SET_PHASE, hdr.sync.edge_ns, (bit<64>)change,
                                   hdr.sync.phase_ns);
            }
        }
    }
}

// The master ends, or so it says.
control TakeShutdown(inout edge_headers_t hdr,
                     inout edge_metadata_t meta,
                     inout standard_metadata_t standard_metadata,
                     in bit<16> port) {
    bit<32> frame;

    CheckFrame() check_frame;
    Leave() leave;

    apply {
        current_frame.read(frame, meta.core);
        if (hdr.fault.session != meta.session || meta.session == 0) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (hdr.fault.code != (bit<8>)FaultCode.SHUTDOWN || hdr.fault.flags != 0 || hdr.fault.edge != meta.master) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            check_frame.apply(hdr.fault.frame, frame, FRAME_WINDOW, meta.drop_reason);
        }
        if (meta.drop_reason == DropReason.NONE) {
            leave.apply(hdr, meta, standard_metadata, port);
        }
    }
}

// A control message for a slave, by its fibre or from the controller.
control MemberMessage(inout edge_headers_t hdr,
                      inout edge_metadata_t meta,
                      inout standard_metadata_t standard_metadata,
                      in bit<16> port) {
    TakeInvitation() take_invitation;
    TakeConfiguration() take_configuration;
    TakeMeasurement() take_measurement;
    TakeShutdown() take_shutdown;

    apply {
        if (meta.by_invitation == 0 || hdr.optical.src_edge != meta.master) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (hdr.invitation.isValid()) {
            take_invitation.apply(hdr, meta, standard_metadata, port);
        } else if (hdr.configuration.isValid()) {
            take_configuration.apply(hdr, meta, standard_metadata, port);
        } else if (hdr.sync.isValid()) {
            take_measurement.apply(hdr, meta, standard_metadata, port);
        } else {
            take_shutdown.apply(hdr, meta, standard_metadata, port);
        }
    }
}

// At a slot's start: an edge that has not been measured for too long leaves. `silent`: nothing may be sent. An edge
// that does not know yet how its clock runs is acquiring: it signals, a whole guard off, and sends no data.
control MemberTick(inout edge_headers_t hdr,
                   inout edge_metadata_t meta,
                   inout standard_metadata_t standard_metadata,
                   out bool silent) {
    bit<32> last_frame;
    bit<32> hold;
    bit<8>  count;

    Leave() leave;

    apply {
        silent = false;
        current_frame.write(meta.core, hdr.slot_tick.frame);
        if (meta.by_invitation == 1) {
            measured_frame.read(last_frame, meta.core);
            own_hold_frames.read(hold, meta.core);
            measurements.read(count, meta.core);
            if (meta.session == 0) {
                silent = true;
                meta.drop_reason = DropReason.UNSYNCHRONIZED;
            } else if (count == NO_TICK) {
                meta.acquiring = 1;
                measurements.write(meta.core, NO_MEASUREMENT);
                measured_frame.write(meta.core, hdr.slot_tick.frame - 1);
            } else if ((int<32>)(hdr.slot_tick.frame - last_frame) > (int<32>)hold) {
                silent = true;
                leave.apply(hdr, meta, standard_metadata, hdr.linecard.port);
            } else if (count != MANY_MEASUREMENTS) {
                meta.acquiring = 1;
            }
            if (meta.acquiring == 1) {
                meta.margin_ns = meta.guard_ns;
            }
        }
    }
}

#endif
