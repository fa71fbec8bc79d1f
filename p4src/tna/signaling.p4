// SPDX-License-Identifier: Apache-2.0
// Stands for include/signaling.p4 and include/answer.p4: what a tick of a signaling slot, an alarm or an answer tick becomes, in the pipe beside
// that of the fibre.
//
//   tick ──> signaling ──> message ──┐
//   alarm, answer tick ──> of_card ──┴──> MessageWriter ──> request_t, commit_t, invitation_t, ...
#ifndef SLOTWISE_SIGNALING_P4
#define SLOTWISE_SIGNALING_P4
#include "aside.p4"
#include "counting.p4"
#include "session_op.p4"
#include "../include/edge_parser.p4"

// Of what is made.
struct message_t {
    Made        made;
    OpticalKind kind;
    edge_t      dst_edge;
    port_t      port;
    bit<16>     block;  // of queues, in a request
}

control Signaling(in star_state_t state, in bit<1> ending, inout edge_headers_t hdr, inout message_t message, inout DropReason drop_reason) {
    bit<32> masked = 0;
    bit<1>  is_masked = 0;
    bit<1>  is_far = 0;     // beyond those that a master measures

    direct_counter(CounterType.packets_and_bytes) signaling_counter;

    // `block` of this edge's queues, to the master or (the master's own) to PORT_CPU.
    action send_request(bit<16> block, port_t port) {
        message.kind = OpticalKind.REQUEST;
        message.block = block;
        message.dst_edge = state.master;
        message.port = port;
        COUNT(signaling_counter)
    }

    // The same, only in frames whose number has no bit of `mask`: for a controller that does not take all of them.
    action send_request_every(bit<16> block, bit<32> mask, port_t port) {
        message.kind = OpticalKind.REQUEST;
        message.block = block;
        message.dst_edge = state.master;
        message.port = port;
        masked = hdr.slot_tick.frame & mask;
        COUNT(signaling_counter)
    }

    // The beacon for a slave, or for the core by PORT_CORE_CONTROL.
    action send_commit(edge_t edge, port_t port) {
        message.kind = OpticalKind.COMMIT;
        message.dst_edge = edge;
        message.port = port;
        COUNT(signaling_counter)
    }

    // Asks `edge`, whose address is `mac`, to join.
    action send_invitation(edge_t edge, session_t nonce, mac_t mac, bit<32> answer_ns, port_t port) {
        message.kind = OpticalKind.INVITATION;
        message.dst_edge = edge;
        message.port = port;
        hdr.invitation.setValid();
        hdr.invitation.nonce = nonce;
        hdr.invitation.mac = mac;
        hdr.invitation.flags = 0;
        hdr.invitation.answer_ns = answer_ns;
        COUNT(signaling_counter)
    }

    // Tells an edge that has answered how time is cut, and its T_d.
    action send_configuration(edge_t edge, session_t session, bit<32> slot_ns, bit<32> guard_ns, bit<16> slots,
                              bit<16> hold_frames, time_ns_t phase_ns, port_t port) {
        message.kind = OpticalKind.CONFIGURATION;
        message.dst_edge = edge;
        message.port = port;
        hdr.configuration.setValid();
        hdr.configuration.session = session;
        hdr.configuration.slot_ns = slot_ns;
        hdr.configuration.guard_ns = guard_ns;
        hdr.configuration.slots = slots;
        hdr.configuration.hold_frames = hold_frames;
        hdr.configuration.phase_ns = phase_ns;
        COUNT(signaling_counter)
    }

    // To the master to be measured, or from the master what was measured.
    action send_sync(edge_t edge, port_t port) {
        message.kind = OpticalKind.SYNC;
        message.dst_edge = edge;
        message.port = port;
        COUNT(signaling_counter)
    }

    action no_message() {
        drop_reason = DropReason.NO_SIGNALING;
    }

    table signaling {
        key = {
            state.core:           exact @name("core");
            hdr.slot_tick.slot:   exact @name("slot");
            hdr.slot_tick.repeat: exact @name("repeat");
        }
        actions = {
            send_request;
            send_request_every;
            send_commit;
            send_invitation;
            send_configuration;
            send_sync;
            @defaultonly no_message;
        }
        const default_action = no_message();
        counters = signaling_counter;
        size = 1024;
    }

    @hidden action far() {
        is_far = 1;
    }

    @hidden action near() {
    }

    @hidden table range_of_edge {
        key = {
            message.dst_edge: ternary;
        }
        actions = {
            far;
            near;
        }
        const default_action = far();
        const entries = {
            (edge_t)MAX_MEMBERS &&& 0xfff0: far();
            0 &&& 0xff00:                   near();
        }
    }

    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action make(Made what) {
        message.made = what;
    }

    // A master that ends tells its slaves so instead.
    @hidden action end() {
        message.made = Made.SHUTDOWN;
        message.kind = OpticalKind.FAULT;
    }

    // The first rule that applies counts.
    @hidden table rules {
        key = {
            message.kind: ternary;
            state.is:     ternary;
            is_far:       ternary;
            is_masked:    ternary;
            message.block: ternary;
            message.port: ternary;
            ending:       ternary;
        }
        actions = {
            refuse;
            make;
            end;
        }
        const default_action = refuse(DropReason.NO_SIGNALING);
        const entries = {
            (OpticalKind.COMMIT, 0 &&& IS_MASTER, _, _, _, _, _):                     refuse(DropReason.BAD_COMMIT);
            (OpticalKind.INVITATION, 0 &&& IS_INVITING, _, _, _, _, _):               refuse(DropReason.NOT_A_MEMBER);
            (OpticalKind.CONFIGURATION, 0 &&& IS_INVITING, _, _, _, _, _):            refuse(DropReason.NOT_A_MEMBER);
            (OpticalKind.SYNC, 0 &&& IS_INVITING | IS_BY_INVITATION, _, _, _, _, _):  refuse(DropReason.NOT_A_MEMBER);
            (_, IS_INVITING &&& IS_INVITING, 1, _, _, _, _):                          refuse(DropReason.NOT_A_MEMBER);
            (_, _, _, 1, _, _, _):                                                    refuse(DropReason.NO_SIGNALING);
            (OpticalKind.REQUEST, _, _, _, 0 &&& 0xffc0, _, _):                       make(Made.REQUEST);
            (OpticalKind.REQUEST, _, _, _, _, _, _):                                  refuse(DropReason.BAD_QUEUE);  // it is not there
            (OpticalKind.COMMIT, _, _, _, _, PORT_CORE_CONTROL, _):                   make(Made.COMMIT);
            (OpticalKind.COMMIT, _, _, _, _, _, 1):                                   end();
            (OpticalKind.COMMIT, _, _, _, _, _, _):                                   make(Made.COMMIT);
            (OpticalKind.INVITATION, _, _, _, _, _, _):                               make(Made.INVITATION);
            (OpticalKind.CONFIGURATION, _, _, _, _, _, _):                            make(Made.CONFIGURATION);
            (OpticalKind.SYNC, 0 &&& IS_MASTER, _, _, _, _, _):                       make(Made.ASK);
            (OpticalKind.SYNC, _, _, _, _, _, _):                                     make(Made.TELL);
        }
    }

    apply {
        if (signaling.apply().hit) {
            if (masked != 0) {
                is_masked = 1;
            }
            range_of_edge.apply();
            rules.apply();
        }
    }
}

// What a card finds wrong, and the tick that was asked for to answer an invitation.
control OfCard(in star_state_t state, in edge_headers_t hdr, in bit<8> answer, inout message_t message, inout DropReason drop_reason) {
    // Copies that may lie anywhere.
    Hash<port_t>(HashAlgorithm_t.IDENTITY) fault_port;
    Hash<port_t>(HashAlgorithm_t.IDENTITY) fibre_port;

    @hidden action refuse() {
        drop_reason = DropReason.NO_SIGNALING;
    }

    @hidden action tell_fault() {
        message.made = Made.FAULT;
        message.kind = OpticalKind.FAULT;
        message.dst_edge = state.master;
        message.port = fault_port.get({ state.fault_port[8:0] });
    }

    @hidden action answer_invitation() {
        message.made = Made.ANSWER;
        message.kind = OpticalKind.INVITATION;
        message.dst_edge = state.master;
        message.port = fibre_port.get({ state.fibre_port[8:0] });
    }

    @hidden table of_card {
        key = {
            state.is:            ternary;
            hdr.alarm.isValid(): ternary;
            answer:              ternary;
        }
        actions = {
            refuse;
            tell_fault;
            answer_invitation;
        }
        const default_action = refuse();
        const entries = {
            (0 &&& IS_BY_INVITATION, _, _): refuse();
            (_, true, _):                   tell_fault();
            (_, false, ANSWER_DUE):         answer_invitation();
        }
    }

    apply {
        of_card.apply();
    }
}

#endif
