// SPDX-License-Identifier: Apache-2.0
// What an edge does with its signaling: ticks of signaling slots, alarms and answer ticks become messages, messages of the controller and of
// other edges, but commits, are examined; what is taken comes again, is kept then, and becomes an order for the line card or goes to the controller.
#ifndef SLOTWISE_TNA_SIDE_P4
#define SLOTWISE_TNA_SIDE_P4
#include "measure.p4"
#include "session_messages.p4"
#include "side_write.p4"
#include "../include/edge_parser.p4"

struct side_metadata_t {
    port_t     input;
    bit<1>     is_again;
    said_t     said;
    again_t    taken;        // of what comes again: what becomes of it
    again_t    next;         // the same, for the next time
    port_t     port;         // by which it leaves
    bit<1>     comes_again;
    bit<1>     is_made;      // it is a message that was made here
    time_ns_t  span;         // 0 at first; between two times, or what is added to one
    DropReason drop_reason;
}

// What a packet does with registers.
control SideOps(in aside_t aside, in edge_headers_t hdr, inout side_metadata_t meta, inout SessionOp op,
                inout session_t new_session, inout frame_t kept_frame, inout bit<8> flag) {
    @hidden action do_so(SessionOp found) {
        op = found;
        kept_frame = meta.said.frame;
    }

    @hidden action tick() {
        op = SessionOp.TICK;
        kept_frame = meta.said.frame - 1;
    }

    @hidden action leave() {
        op = SessionOp.LEAVE;
        meta.taken.duty = (bit<8>)Duty.LEAVE;
        meta.taken.state = (bit<8>)MemberState.OUT;
    }

    @hidden action invite() {
        op = SessionOp.INVITE;
        flag = ANSWER_DUE;
    }

    @hidden action join() {
        op = SessionOp.JOIN;
        new_session = meta.said.session;
        flag = NO_ANSWER;
    }

    @hidden action measure() {
        op = SessionOp.MEASURE;
        kept_frame = meta.said.frame;
    }

    @hidden action order() {
        op = SessionOp.ORDER;
        kept_frame = meta.said.frame;
        flag = 7w0 ++ ~hdr.fault.flags[0:0];
    }

    @hidden action note_light() {
        op = SessionOp.ALARM;
        flag = 7w0 ++ ~hdr.alarm.flags[0:0];
    }

    @hidden table ops {
        key = {
            aside.way:           ternary;
            meta.is_again:       ternary;
            meta.taken.duty:     ternary;
            hdr.alarm.isValid(): ternary;
            hdr.alarm.code:      ternary;
        }
        actions = {
            do_so;
            tick;
            leave;
            invite;
            join;
            measure;
            order;
            note_light;
        }
        const default_action = do_so(SessionOp.READ);
        const entries = {
            ((bit<8>)SideWay.TICK, _, _, _, _):                                          tick();
            ((bit<8>)SideWay.LEAVE, _, _, _, _):                                         leave();
            ((bit<8>)SideWay.CARD, _, _, true, (bit<8>)FaultCode.LOSS_OF_SIGNAL):        note_light();
            ((bit<8>)SideWay.CARD, _, _, false, _):                                      do_so(SessionOp.ANSWER);
            ((bit<8>)SideWay.MESSAGE, 1, (bit<8>)Duty.TAKE_INVITATION, _, _):            invite();
            ((bit<8>)SideWay.MESSAGE, 1, (bit<8>)Duty.TAKE_CONFIGURATION, _, _):         join();
            ((bit<8>)SideWay.MESSAGE, 1, (bit<8>)Duty.TAKE_MEASUREMENT, _, _):           measure();
            ((bit<8>)SideWay.MESSAGE, 1, (bit<8>)Duty.LEAVE, _, _):                      do_so(SessionOp.LEAVE);
            ((bit<8>)SideWay.MESSAGE, 1, (bit<8>)Duty.TAKE_ORDER, _, _):                 order();
            ((bit<8>)SideWay.MESSAGE, 1, (bit<8>)Duty.TELL_MEASURED, _, _):              do_so(SessionOp.KEEP);
        }
    }

    apply {
        ops.apply();
    }
}

// What becomes of an edge whose message is taken. Its T_d follows what was measured; what is further from the last one than a guard is a jump,
// of the fibre's delay, and the edge leaves. Two measurements of frames that follow each other are enough for data.
control Become(in star_state_t state, in said_t said, in bit<32> phase, in session_state_t known, inout again_t next) {
    bit<32> last_phase = 0;
    bit<32> guard = 0;
    bit<32> drift = 0;
    bit<32> above = 0;
    bit<32> below = 0;
    frame_t frames = 0;

    COPY(copy_last_phase, bit<32>, last_phase, known.phase[31:0])
    COPY(copy_guard, bit<32>, guard, state.guard_ns)

    @hidden action compare() {
        drift = phase - last_phase;
        frames = said.frame - known.measured_frame;
    }

    @hidden action tolerate() {
        above = guard - drift;
        below = guard + drift;
    }

    @hidden action be(MemberState found) {
        next.duty = state.duty;
        next.state = (bit<8>)found;
    }

    @hidden action remain() {
        next.duty = state.duty;
        next.state = known.state;
    }

    @hidden action leave() {
        next.duty = (bit<8>)Duty.LEAVE;
        next.state = (bit<8>)MemberState.OUT;
    }

    @hidden table become {
        key = {
            state.duty:  ternary;
            known.state: ternary;
            above:       ternary;
            below:       ternary;
            frames:      ternary;
        }
        actions = {
            be;
            remain;
            leave;
        }
        const default_action = be(MemberState.OUT);
        const entries = {
            ((bit<8>)Duty.TAKE_CONFIGURATION, _, _, _, _):                                        be(MemberState.JOINED);
            ((bit<8>)Duty.TAKE_MEASUREMENT, (bit<8>)MemberState.UNMEASURED, _, _, _):             be(MemberState.MEASURED);
            ((bit<8>)Duty.TAKE_MEASUREMENT, _, 0x80000000 &&& 0x80000000, _, _):                  leave();
            ((bit<8>)Duty.TAKE_MEASUREMENT, _, _, 0x80000000 &&& 0x80000000, _):                  leave();
            ((bit<8>)Duty.TAKE_MEASUREMENT, (bit<8>)MemberState.MEASURED, _, _, 1):               be(MemberState.FOLLOWING);
            ((bit<8>)Duty.TAKE_MEASUREMENT, _, _, _, _):                                          remain();
        }
    }

    apply {
        copy_last_phase();
        copy_guard();
        compare();
        tolerate();
        become.apply();
    }
}

// The instances that hold tables and counters are named so that P4Info says EdgeIngress.<table>, as of the fibre's pipe.
control Side(in aside_t aside, in star_state_t state, inout edge_headers_t hdr, inout again_t order, inout side_metadata_t meta) {
    SideOps() ops;
    SessionState() session_state;
    @name(".EdgeIngress") Signaling() signaling;
    OfCard() of_card;
    @name(".EdgeIngress") Members() members;
    Measured() measured;
    ExamineMessage() examine;
    Become() become;
    WriteMessage() write_message;
    WriteOptical() write_optical;
    SideCrc() crc;
    TellController() tell_controller;
    WriteOrder() write_order;

    SessionOp       op = SessionOp.READ;
    session_t       new_session = 0;
    frame_t         kept_frame = 0;
    bit<8>          flag = 0;
    session_state_t known = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    message_t       message = { Made.NOTHING, OpticalKind.DATA, 0, 0, 0 };
    member_index_t  member = 0;
    session_t       session = 0;
    bit<1>          is_stranger = 0;
    session_t       last_session = 0;
    frame_t         last_frame = 0;
    bit<8>          is_due = 0;
    bit<32>         crc_found = 0;
    bit<32>         crc_differs = 0;
    bit<1>          tells = 0;
    bit<32>         hold_frames = 0;
    bit<32>         low = 0;
    bit<1>          tells_it = 0;

    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) wide;  // a copy that may lie anywhere

    // T_d = received - sent - the way from the core to here, which is the master's own T_d (equation 3.3 of the AAPN thesis).
    @hidden action time_way() {
        meta.span = hdr.stamp.received_ns - hdr.stamp.sent_ns;
    }

    @hidden action time_phase() {
        meta.span = meta.span - state.own_phase_ns;
    }

    // How long what is measured took to come back.
    @hidden action time_turn() {
        meta.span = hdr.stamp.received_ns - hdr.sync.edge_ns;
    }

    @hidden action read_hold() {
        hold_frames = wide.get({ 16w0, hdr.configuration.hold_frames });
    }

    @hidden action of_source() {
        member = hdr.optical.src_edge[7:0];
    }

    @hidden action of_destination() {
        member = message.dst_edge[7:0];
    }

    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action compare_crc() {
        crc_differs = hdr.check.crc ^ crc_found;
    }

    @hidden action tells_controller() {
        tells_it = 1;
    }

    @hidden action come_again() {
        meta.comes_again = 1;
    }

    // Which edges are members is looked at where this one invites, but of answers.
    @hidden action be_told() {
        tells = 1;
    }

    @hidden table told {
        key = {
            state.duty: exact;
        }
        actions = {
            be_told;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (bit<8>)Duty.TELL_REQUEST:  be_told();
            (bit<8>)Duty.TELL_MEASURED: be_told();
            (bit<8>)Duty.TELL_FAULT:    be_told();
            (bit<8>)Duty.TELL_ANSWER:   be_told();
        }
    }

    apply {
        read_hold();
        ops.apply(aside, hdr, meta, op, new_session, kept_frame, flag);
        session_state.apply(state.star, op, meta.said.session, new_session, kept_frame, hdr.sync.phase_ns, meta.taken.state,
                            hold_frames, flag, known);
        write_order.apply(state, meta.said, meta.taken, hold_frames, known, meta.span, hdr, order, meta.port);
        if (state.duty == (bit<8>)Duty.TELL_MEASURED) {
            time_way();
            time_phase();
        } else if (state.duty == (bit<8>)Duty.TAKE_MEASUREMENT) {
            time_turn();
        }
        if (aside.way == (bit<8>)SideWay.MESSAGE) {
            of_source();
            told.apply();
            if (tells == 1 && meta.is_again == 0 && state.is[1:1] == 1 && state.duty != (bit<8>)Duty.TELL_ANSWER) {
                members.apply(hdr.optical.src_edge, hdr.packet_in.ingress_port, session, is_stranger);
            }
        } else if (aside.way == (bit<8>)SideWay.TICK) {
            signaling.apply(state, known.ending[0:0], hdr, message, meta.drop_reason);
            of_destination();
        } else if (aside.way == (bit<8>)SideWay.CARD) {
            of_card.apply(state, hdr, known.answer, message, meta.drop_reason);
        }
        measured.apply(member, op, message.made, meta.said.session, meta.said.frame, hdr.stamp.sent_ns, meta.span, last_session, last_frame, hdr.sync,
                       is_due);
        if (message.made == Made.TELL && is_due == 0) {
            refuse(DropReason.NO_SIGNALING);
        }
        if (aside.way == (bit<8>)SideWay.MESSAGE && meta.is_again == 0) {
            examine.apply(hdr, state, meta.said, known, last_session, last_frame, session, is_stranger, meta.span, low, meta.drop_reason);
            become.apply(state, meta.said, low, known, meta.next);
        }
        if (message.made != Made.NOTHING) {
            write_message.apply(message, state, known, last_session, hdr);
            write_optical.apply(message, state, is_due, hdr, meta.port);
            meta.is_made = 1;
        }
        crc.apply(hdr, crc_found);
        compare_crc();
        if (aside.way == (bit<8>)SideWay.MESSAGE) {
            if (hdr.packet_in.ingress_port == PORT_CPU && crc_differs != 0 && meta.is_again == 0) {
                refuse(DropReason.BAD_CHECK);
            }
            if (meta.drop_reason == DropReason.NONE) {
                if (meta.is_again == 0 && (tells == 0 || state.duty == (bit<8>)Duty.TELL_MEASURED)) {
                    come_again();
                } else if (tells == 1) {
                    tells_controller();
                }
            }
        } else if (meta.port == PORT_CPU) {
            tells_controller();
        }
        if (tells_it == 1) {
            tell_controller.apply(crc_found, hdr, meta.port);
        }
    }
}

#endif
