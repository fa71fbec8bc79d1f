// SPDX-License-Identifier: Apache-2.0
// One tick of a signaling slot becomes one message, in place: the tick's headers give way to the message's.
#ifndef SLOTWISE_SIGNALING_P4
#define SLOTWISE_SIGNALING_P4
#include "edge_parser.p4"
#include "freshness.p4"
#include "master.p4"
#include "measure.p4"

// What the line cards last reported, by queue.
register<bit<32>>(MAX_QUEUES) backlog_bytes;
register<bit<32>>(MAX_QUEUES) arrived_bytes;
// By core: whether it has raised LOSS_OF_SIGNAL.
register<bit<1>>(MAX_CORES) no_light;

#define REQUEST_ENTRY(i) \
    backlog_bytes.read(hdr.entries.backlog_bytes_##i, first_queue + i); \
    arrived_bytes.read(hdr.entries.arrived_bytes_##i, first_queue + i);

control Signaling(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    bit<16>   requested = 0;
    index_t   first_queue = 0;
    bit<32>   frame_mask = 0;
    bit<1>    is_masked = 0;
    bit<1>    is_far = 0;     // beyond those that a master measures
    bit<1>    is_beyond = 0;  // a block of queues that are not there
    bit<1>    ending = 0;     // this master is to end, and tells its slaves so
    bit<1>    fresh;
    bit<1>    dark;
    bit<1>    due;
    frame_t   stale;
    bit<64>   frames;

    direct_counter(CounterType.packets_and_bytes) signaling_counter;

    // `block` of this edge's queues, to the master or (the master's own) to PORT_CPU.
    action send_request(bit<16> block, port_t port) {
        meta.kind = OpticalKind.REQUEST;
        requested = block;
        first_queue = (index_t)block * (index_t)REQUEST_ENTRIES;
        meta.dst_edge = meta.master;
        meta.egress_port = port;
    }

    // The same, only in frames whose number has no bit of `mask`: for a controller that does not take all of them.
    action send_request_every(bit<16> block, bit<32> mask, port_t port) {
        send_request(block, port);
        frame_mask = mask;
    }

    // The beacon for a slave, or for the core by PORT_CORE_CONTROL.
    action send_commit(edge_t edge, port_t port) {
        meta.kind = OpticalKind.COMMIT;
        meta.dst_edge = edge;
        meta.egress_port = port;
    }

    // Asks `edge`, whose address is `mac`, to join.
    action send_invitation(edge_t edge, session_t nonce, mac_t mac, bit<32> answer_ns, port_t port) {
        meta.kind = OpticalKind.INVITATION;
        meta.dst_edge = edge;
        meta.egress_port = port;
        hdr.stamp.setValid();
        hdr.stamp.sent_ns = 0;
        hdr.stamp.received_ns = 0;
        hdr.invitation.setValid();
        hdr.invitation.flags = 0;
        hdr.invitation.nonce = nonce;
        hdr.invitation.mac = mac;
        hdr.invitation.answer_ns = answer_ns;
    }

    // Tells an edge that has answered how time is cut, and its T_d.
    action send_configuration(edge_t edge, session_t session, bit<32> slot_ns, bit<32> guard_ns, bit<16> slots,
                              bit<16> hold_frames, time_ns_t phase_ns, port_t port) {
        meta.kind = OpticalKind.CONFIGURATION;
        meta.dst_edge = edge;
        meta.egress_port = port;
        hdr.configuration.setValid();
        hdr.configuration.session = session;
        hdr.configuration.slot_ns = slot_ns;
        hdr.configuration.guard_ns = guard_ns;
        hdr.configuration.slots = slots;
        hdr.configuration.hold_frames = hold_frames;
        hdr.configuration.phase_ns = phase_ns;
    }

    // To the master to be measured, or from the master what was measured.
    action send_sync(edge_t edge, port_t port) {
        meta.kind = OpticalKind.SYNC;
        meta.dst_edge = edge;
        meta.egress_port = port;
    }

    action no_message() {
        meta.drop_reason = DropReason.NO_SIGNALING;
    }

    table signaling {
        key = {
            meta.core:            exact @name("core");
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

    @hidden action look() {
        meta.duty = Duty.SEND_MESSAGE;
        shutting_down.read(ending, meta.core);
        if (meta.egress_port == PORT_CORE_CONTROL) {
            ending = 0;
        }
        meta.measured_edge = (index_t)meta.dst_edge;
        if (meta.measured_edge >= MAX_MEMBERS) {
            is_far = 1;
        }
        if ((hdr.slot_tick.frame & frame_mask) != 0) {
            is_masked = 1;
        }
        if (requested >= (bit<16>)MAX_QUEUES / REQUEST_ENTRIES) {
            is_beyond = 1;
        }
    }

    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    // As the signaling entry has it.
    @hidden action write_no_more() {
        meta.to_fibre = 1;
    }

    // What this edge has to send, for the controller: REQUEST_ENTRIES queues from `first_queue` on.
    @hidden action write_request() {
        meta.to_fibre = 1;
        hdr.request.setValid();
        hdr.request.frame = hdr.slot_tick.frame;
        hdr.request.active_version = meta.versions.active;
        hdr.request.next_version = meta.versions.next;
        hdr.request.block = requested;
        hdr.entries.setValid();
        REQUEST_ENTRY(0) REQUEST_ENTRY(1) REQUEST_ENTRY(2) REQUEST_ENTRY(3)
        REQUEST_ENTRY(4) REQUEST_ENTRY(5) REQUEST_ENTRY(6) REQUEST_ENTRY(7)
        REQUEST_ENTRY(8) REQUEST_ENTRY(9) REQUEST_ENTRY(10) REQUEST_ENTRY(11)
        REQUEST_ENTRY(12) REQUEST_ENTRY(13) REQUEST_ENTRY(14) REQUEST_ENTRY(15)
        FRESHNESS(hdr.slot_tick.frame, stale, fresh)
        no_light.read(dark, meta.core);
        hdr.request.flags = (bit<16>)(dark ++ fresh);
    }

    @hidden action write_commit() {
        meta.to_fibre = 1;
        hdr.commit.setValid();
        hdr.commit.frame = hdr.slot_tick.frame;
        hdr.commit.active_version = meta.versions.active;
        hdr.commit.next_version = meta.versions.next;
        hdr.commit.first_frame = meta.versions.next_frame;
    }

    // A master that ends tells its slaves so instead.
    @hidden action write_shutdown() {
        meta.to_fibre = 1;
        meta.kind = OpticalKind.FAULT;
        hdr.fault.setValid();
        member_session.read(hdr.fault.session, meta.measured_edge);
        hdr.fault.frame = hdr.slot_tick.frame;
        hdr.fault.code = FaultCode.SHUTDOWN;
        hdr.fault.flags = 0;
        hdr.fault.edge = meta.edge_id;
    }

    // A measurement of T_d: an edge asks for one ...
    @hidden action ask_measurement() {
        meta.to_fibre = 1;
        hdr.stamp.setValid();
        hdr.stamp.sent_ns = 0;
        hdr.stamp.received_ns = 0;
        hdr.sync.setValid();
        hdr.sync.session = meta.session;
        hdr.sync.frame = hdr.slot_tick.frame;
        hdr.sync.edge_ns = 0;
        frames = (bit<64>)(hdr.slot_tick.frame - meta.member.measured_frame);
        frames = frames * meta.member.phase_change;
        hdr.sync.phase_ns = meta.member.measured_phase + (time_ns_t)((int<64>)frames >> 16);
    }

    // ... and the master tells the newest one, once.
    @hidden action tell_measurement() {
        hdr.stamp.setValid();
        hdr.stamp.sent_ns = 0;
        hdr.stamp.received_ns = 0;
        hdr.sync.setValid();
        told_due.read(due, meta.measured_edge);
        told_due.write(meta.measured_edge, 0);
        member_session.read(hdr.sync.session, meta.measured_edge);
        told_frame.read(hdr.sync.frame, meta.measured_edge);
        told_edge_ns.read(hdr.sync.edge_ns, meta.measured_edge);
        told_phase.read(hdr.sync.phase_ns, meta.measured_edge);
        if (due == 1) {
            meta.to_fibre = 1;
        } else {
            meta.drop_reason = DropReason.NO_SIGNALING;
        }
    }

    // The first rule that applies counts.
    @hidden table message {
        key = {
            meta.kind:          ternary;
            meta.is_master:     ternary;
            meta.inviting:      ternary;
            meta.by_invitation: ternary;
            is_far:             ternary;
            is_masked:          ternary;
            is_beyond:          ternary;
            ending:             ternary;
        }
        actions = {
            refuse;
            write_no_more;
            write_request;
            write_commit;
            write_shutdown;
            ask_measurement;
            tell_measurement;
        }
        const default_action = write_no_more();
        const entries = {
            (OpticalKind.COMMIT, 0, _, _, _, _, _, _):        refuse(DropReason.BAD_COMMIT);
            (OpticalKind.INVITATION, _, 0, _, _, _, _, _):    refuse(DropReason.NOT_A_MEMBER);
            (OpticalKind.CONFIGURATION, _, 0, _, _, _, _, _): refuse(DropReason.NOT_A_MEMBER);
            (OpticalKind.SYNC, _, 0, 0, _, _, _, _):          refuse(DropReason.NOT_A_MEMBER);
            (_, _, 1, _, 1, _, _, _):                         refuse(DropReason.NOT_A_MEMBER);
            (_, _, _, _, _, 1, _, _):                         refuse(DropReason.NO_SIGNALING);
            (OpticalKind.REQUEST, _, _, _, _, _, 1, _):       refuse(DropReason.BAD_QUEUE);
            (OpticalKind.REQUEST, _, _, _, _, _, _, _):       write_request();
            (OpticalKind.COMMIT, _, _, _, _, _, _, 1):        write_shutdown();
            (OpticalKind.COMMIT, _, _, _, _, _, _, _):        write_commit();
            (OpticalKind.SYNC, 0, _, _, _, _, _, _):          ask_measurement();
            (OpticalKind.SYNC, _, _, _, _, _, _, _):          tell_measurement();
        }
    }

    apply {
        if (signaling.apply().hit) {
            look();
            message.apply();
        }
    }
}

#endif
