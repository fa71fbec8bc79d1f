// SPDX-License-Identifier: Apache-2.0
// What leaves the pipe beside that of an edge's fibre: messages behind an optical header, what the controller is told, and orders for line cards.
#ifndef SLOTWISE_TNA_SIDE_WRITE_P4
#define SLOTWISE_TNA_SIDE_WRITE_P4
#include "session_state.p4"
#include "session_messages.p4"
#include "signaling.p4"
#include "../include/edge_parser.p4"

// A tick, an alarm or an answer tick becomes a message, in place; a request gets its entries in reports.p4.
control WriteMessage(in message_t message,
                     in star_state_t state,
                     in session_state_t known,
                     in session_t last_session,
                     inout edge_headers_t hdr) {
    COPY(date_request, frame_t, hdr.request.frame, hdr.slot_tick.frame)
    COPY(date_commit, frame_t, hdr.commit.frame, hdr.slot_tick.frame)
    COPY(date_shutdown, frame_t, hdr.fault.frame, hdr.slot_tick.frame)
    COPY(date_sync, frame_t, hdr.sync.frame, hdr.slot_tick.frame)
    COPY(date_fault, frame_t, hdr.fault.frame, state.now)
    COPY(say_block, bit<16>, hdr.request.block, message.block)
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) flags;

    @hidden action write_request() {
        hdr.request.setValid();
        hdr.request.active_version = state.active_version;
        hdr.request.next_version = state.next_version;
    }

    @hidden action say_flags() {
        hdr.request.flags = flags.get({ 14w0, known.dark[0:0], state.is[3:3] });
    }

    @hidden action write_commit() {
        hdr.commit.setValid();
        hdr.commit.active_version = state.active_version;
        hdr.commit.next_version = state.next_version;
        hdr.commit.first_frame = state.next_frame;
    }

    @hidden action write_shutdown() {
        hdr.fault.setValid();
        hdr.fault.session = last_session;
        hdr.fault.code = (bit<8>)FaultCode.SHUTDOWN;
        hdr.fault.flags = 0;
        hdr.fault.edge = state.edge_id;
    }

    // Of what has its fields already, by its entry or by measure.p4.
    @hidden action stamp() {
        hdr.stamp.setValid();
        hdr.stamp.sent_ns = 0;
        hdr.stamp.received_ns = 0;
    }


    @hidden action ask_measurement() {
        stamp();
        hdr.sync.setValid();
        hdr.sync.session = known.session;
        hdr.sync.edge_ns = 0;
        hdr.sync.phase_ns = known.phase;
    }

    @hidden action write_answer() {
        stamp();
        hdr.invitation.setValid();
        hdr.invitation.nonce = known.nonce;
        hdr.invitation.mac = state.mac;
        hdr.invitation.flags = INVITATION_ANSWER;
        hdr.invitation.answer_ns = 0;
    }

    @hidden action write_fault() {
        hdr.fault.setValid();
        hdr.fault.session = known.nonce;
        hdr.fault.code = hdr.alarm.code;
        hdr.fault.flags = hdr.alarm.flags;
        hdr.fault.edge = state.edge_id;
    }

    @hidden table body {
        key = {
            message.made: exact;
        }
        actions = {
            write_request;
            write_commit;
            write_shutdown;
            ask_measurement;
            stamp;
            write_answer;
            write_fault;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            Made.REQUEST:       write_request();
            Made.COMMIT:        write_commit();
            Made.SHUTDOWN:      write_shutdown();
            Made.INVITATION:    stamp();
            Made.TELL:          stamp();
            Made.ASK:           ask_measurement();
            Made.ANSWER:        write_answer();
            Made.FAULT:         write_fault();
        }
    }

    apply {
        body.apply();
        if (message.made == Made.REQUEST) {
            date_request();
            say_block();
            say_flags();
        } else if (message.made == Made.COMMIT) {
            date_commit();
        } else if (message.made == Made.SHUTDOWN) {
            date_shutdown();
        } else if (message.made == Made.ASK) {
            date_sync();
        } else if (message.made == Made.FAULT) {
            date_fault();
        }
    }
}

Register<bit<32>, bit<1>>(1) signaling_sequence;  // last one given out, in the signaling queue

// The optical header of a message.
control WriteOptical(in message_t message, in star_state_t state, in bit<8> is_due, inout edge_headers_t hdr, inout port_t port) {
    bit<8> core = 0;

    RegisterAction<bit<32>, bit<1>, bit<32>>(signaling_sequence) give_out = {
        void apply(inout bit<32> value, out bit<32> sequence) {
            value = value + 1;
            sequence = value;
        }
    };

    @hidden action for_controller() {
        core = state.number;
    }

    @hidden action write() {
        hdr.optical.setValid();
        hdr.optical.version = OPTICAL_VERSION;
        hdr.optical.kind = message.kind;
        hdr.optical.traffic_class = 0;
        hdr.optical.src_edge = state.edge_id;
        hdr.optical.dst_edge = message.dst_edge;
        hdr.optical.queue = SIGNALING_QUEUE;
        hdr.optical.train = (bit<8>)TrainPart.NONE;
        hdr.optical.core = core;
        hdr.optical.inner_type = 0;
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        hdr.linecard.setInvalid();
        port = message.port;
    }

    @hidden action give_number() {
        hdr.optical.sequence = give_out.execute(0);
    }

    apply {
        if (message.port == PORT_CPU) {
            for_controller();
        }
        write();
        if (message.made != Made.TELL || is_due == 1) {
            give_number();
        }
    }
}

// CRC-32 of optical_t and of the message behind it. A request has none: its 160 bytes are more than a stage hashes.
control SideCrc(in edge_headers_t hdr, out bit<32> crc) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc_of_invitation;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc_of_configuration;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc_of_sync;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc_of_fault;

#define OPTICAL_FIELDS \
    hdr.optical.version, hdr.optical.kind, hdr.optical.traffic_class, hdr.optical.src_edge, hdr.optical.dst_edge, \
    hdr.optical.queue, hdr.optical.train, hdr.optical.core, hdr.optical.sequence, hdr.optical.inner_type

    @hidden action of_invitation() {
        crc = crc_of_invitation.get({ OPTICAL_FIELDS, hdr.stamp.sent_ns, hdr.stamp.received_ns, hdr.invitation.nonce, hdr.invitation.mac,
                                      hdr.invitation.flags, hdr.invitation.answer_ns });
    }

    @hidden action of_configuration() {
        crc = crc_of_configuration.get({ OPTICAL_FIELDS, hdr.configuration.session, hdr.configuration.slot_ns, hdr.configuration.guard_ns,
                                         hdr.configuration.slots, hdr.configuration.hold_frames, hdr.configuration.phase_ns });
    }

    @hidden action of_sync() {
        crc = crc_of_sync.get({ OPTICAL_FIELDS, hdr.stamp.sent_ns, hdr.stamp.received_ns, hdr.sync.session, hdr.sync.frame, hdr.sync.edge_ns,
                                hdr.sync.phase_ns });
    }

    @hidden action of_fault() {
        crc = crc_of_fault.get({ OPTICAL_FIELDS, hdr.fault.session, hdr.fault.frame, hdr.fault.code, hdr.fault.flags, hdr.fault.edge });
    }

    apply {
        crc = 0;
        if (hdr.invitation.isValid()) {
            of_invitation();
        } else if (hdr.configuration.isValid()) {
            of_configuration();
        } else if (hdr.sync.isValid()) {
            of_sync();
        } else if (hdr.fault.isValid()) {
            of_fault();
        }
    }
}

// Behind packet_in_t, which it came with.
control TellController(in bit<32> crc, inout edge_headers_t hdr, inout port_t port) {
    @hidden action tell() {
        hdr.check.setValid();
        hdr.check.crc = crc;
        port = PORT_CPU;
    }

    apply {
        tell();
    }
}

// Turns a message that was taken, if it is one for it, into an order for the line card of its star. It goes by the fibre's pipe, which has in front of it what the edge
// is now. `span` is 0, and has its lower half from here.
control WriteOrder(in star_state_t state, in said_t said, in again_t taken, in bit<32> told_hold, in session_state_t known, inout time_ns_t span,
                   inout edge_headers_t hdr, inout again_t order, inout port_t port) {
    bit<32> until = 0;

    COPY(span_answer, bit<32>, span[31:0], hdr.invitation.answer_ns)
    COPY(span_slot, bit<32>, span[31:0], state.slot_ns)

    @hidden action address() {
        hdr.ethernet.ether_type = ETHERTYPE_LINECARD;
        hdr.linecard.setValid();
        hdr.linecard.version = LINECARD_VERSION;
        hdr.linecard.kind = LineCardKind.FLOW_CONTROL;
        hdr.linecard.reserved = 0;
        hdr.linecard.port = state.fibre_port;
        hdr.flow_control.queue = SIGNALING_QUEUE;
        hdr.flow_control.reserved = 0;
        hdr.optical.setInvalid();
        hdr.check.setInvalid();
        hdr.stamp.setInvalid();
        hdr.invitation.setInvalid();
        hdr.configuration.setInvalid();
        hdr.sync.setInvalid();
        hdr.fault.setInvalid();
        order.setValid();
        order.source = 0;
        order.duty = 0;
        order.core = state.number;
        order.state = taken.state;
        port = PORT_LOOP;
    }

    @hidden action find_end() {
        until = said.frame + known.hold_frames;
    }

    @hidden action invite() {
        hdr.flow_control.setValid();
        hdr.flow_control.op = FlowOp.OPEN_AND_TICK;
        hdr.flow_control.open_ns = hdr.stamp.received_ns + span;
        hdr.flow_control.value = 0;
        order.frame = 0;
    }

    @hidden action end_invitation() {
        hdr.flow_control.close_ns = hdr.flow_control.open_ns + span;
    }

    @hidden action join() {
        hdr.flow_control.setValid();
        hdr.flow_control.op = FlowOp.SET_PHASE;
        hdr.flow_control.open_ns = 0;
        hdr.flow_control.close_ns = 0;
        hdr.flow_control.value = hdr.configuration.phase_ns;
        order.frame = told_hold - 1;
    }

    // By how much T_d changes in a frame is for the card to learn.
    @hidden action follow() {
        hdr.flow_control.setValid();
        hdr.flow_control.op = FlowOp.SET_PHASE;
        hdr.flow_control.open_ns = hdr.sync.edge_ns;
        hdr.flow_control.close_ns = 0;
        hdr.flow_control.value = hdr.sync.phase_ns;
        order.frame = until;
    }

    @hidden action leave() {
        hdr.flow_control.setValid();
        hdr.flow_control.op = FlowOp.STOP;
        hdr.flow_control.open_ns = 0;
        hdr.flow_control.close_ns = 0;
        hdr.flow_control.value = 0;
        order.frame = 0;
    }

    @hidden table what {
        key = {
            taken.duty:  ternary;
            known.state: ternary;
        }
        actions = {
            invite;
            join;
            follow;
            leave;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            ((bit<8>)Duty.TAKE_INVITATION, _):                                  invite();
            ((bit<8>)Duty.TAKE_CONFIGURATION, _):                               join();
            ((bit<8>)Duty.TAKE_MEASUREMENT, (bit<8>)MemberState.UNMEASURED):    follow();
            ((bit<8>)Duty.TAKE_MEASUREMENT, (bit<8>)MemberState.MEASURED):      follow();
            ((bit<8>)Duty.TAKE_MEASUREMENT, (bit<8>)MemberState.FOLLOWING):     follow();
            ((bit<8>)Duty.LEAVE, _):                                            leave();
        }
    }

    apply {
        find_end();
        if (taken.duty == (bit<8>)Duty.TAKE_INVITATION) {
            span_answer();
        }
        if (what.apply().hit) {
            if (taken.duty == (bit<8>)Duty.TAKE_INVITATION) {
                span_slot();
                end_invitation();
            }
            address();
        }
    }
}

#endif
