// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_SIGNALING_P4
#define SLOTWISE_SIGNALING_P4
#include "edge_parser.p4"
#include "measure.p4"
#include "membership.p4"
#include "optical.p4"
#include "schedule.p4"
#include "version.p4"

// What the line cards last reported, by queue.
register<bit<32>>(MAX_QUEUES) backlog_bytes;
register<bit<32>>(MAX_QUEUES) arrived_bytes;
// By core: whether it has raised LOSS_OF_SIGNAL.
register<bit<1>>(MAX_CORES) no_light;

#define REQUEST_ENTRY(i) \
    hdr.entries[i].setValid(); \
    backlog_bytes.read(hdr.entries[i].backlog_bytes, first_queue + i); \
    arrived_bytes.read(hdr.entries[i].arrived_bytes, first_queue + i)

// What this edge has to send, for the controller: REQUEST_ENTRIES queues from `first_queue` on.
control WriteRequest(inout edge_headers_t hdr, in edge_metadata_t meta, in bit<16> block) {
    bit<32> first_queue;
    bit<1>  fresh;
    bit<1>  dark;

    Freshness() freshness;

    apply {
        hdr.request.setValid();
        hdr.request.frame = hdr.slot_tick.frame;
        active_version.read(hdr.request.active_version, meta.core);
        next_version.read(hdr.request.next_version, meta.core);
        hdr.request.block = block;
        freshness.apply(meta, hdr.slot_tick.frame, fresh);
        no_light.read(dark, meta.core);
        hdr.request.flags = (bit<16>)(dark ++ fresh);

        first_queue = (bit<32>)block * (bit<32>)REQUEST_ENTRIES;
        REQUEST_ENTRY(0);
        REQUEST_ENTRY(1);
        REQUEST_ENTRY(2);
        REQUEST_ENTRY(3);
        REQUEST_ENTRY(4);
        REQUEST_ENTRY(5);
        REQUEST_ENTRY(6);
        REQUEST_ENTRY(7);
        REQUEST_ENTRY(8);
        REQUEST_ENTRY(9);
        REQUEST_ENTRY(10);
        REQUEST_ENTRY(11);
        REQUEST_ENTRY(12);
        REQUEST_ENTRY(13);
        REQUEST_ENTRY(14);
        REQUEST_ENTRY(15);
    }
}

// A measurement of T_d: an edge asks for one, the master tells the newest one, once.
control WriteSync(inout edge_headers_t hdr, inout edge_metadata_t meta, in bit<16> edge) {
    bit<1>  due;
    bit<32> last_frame;
    bit<64> phase;
    bit<64> change;
    bit<32> frames;

    apply {
        hdr.stamp.setValid();
        hdr.stamp.sent_ns = 0;
        hdr.stamp.received_ns = 0;
        hdr.sync.setValid();
        if (meta.is_master == 0) {
            hdr.sync.session = meta.session;
            hdr.sync.frame = hdr.slot_tick.frame;
            hdr.sync.edge_ns = 0;
            measured_frame.read(last_frame, meta.core);
            measured_phase.read(phase, meta.core);
            phase_change.read(change, meta.core);
            frames = hdr.slot_tick.frame - last_frame;
            hdr.sync.phase_ns = phase + (bit<64>)(((int<64>)change * (int<64>)(bit<64>)frames) >> 16);
        } else {
            told_due.read(due, (bit<32>)edge);
            told_due.write((bit<32>)edge, 0);
            member_session.read(hdr.sync.session, (bit<32>)edge);
            told_frame.read(hdr.sync.frame, (bit<32>)edge);
            told_edge_ns.read(hdr.sync.edge_ns, (bit<32>)edge);
            told_phase.read(hdr.sync.phase_ns, (bit<32>)edge);
            if (due == 0) {
                meta.drop_reason = DropReason.NO_SIGNALING;
            }
        }
    }
}

// One tick of a signaling slot becomes one message, in place: the tick's headers give way to the message's.
control Signaling(inout edge_headers_t hdr,
                  inout edge_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    OpticalKind kind = OpticalKind.REQUEST;
    bit<16> requested = 0;
    bit<16> dst_edge = 0;
    bit<9>  egress_port = PORT_DROP;
    bit<1>  ending = 0;
    bit<32> frame_mask = 0;

    WriteRequest() write_request;
    WriteSync() write_sync;
    Encapsulate() encapsulate;

    direct_counter(CounterType.packets_and_bytes) signaling_counter;

    // `block` of this edge's queues, to the master or (the master's own) to PORT_CPU.
    action send_request(bit<16> block, bit<9> port) {
        kind = OpticalKind.REQUEST;
        requested = block;
        dst_edge = meta.master;
        egress_port = port;
    }

    // The same, only in frames whose number has no bit of `mask`: for a controller that does not take all of them.
    action send_request_every(bit<16> block, bit<32> mask, bit<9> port) {
        send_request(block, port);
        frame_mask = mask;
    }

    // The beacon for a slave, or for the core by PORT_CORE_CONTROL.
    action send_commit(bit<16> edge, bit<9> port) {
        kind = OpticalKind.COMMIT;
        dst_edge = edge;
        egress_port = port;
    }

    // Asks `edge`, whose address is `mac`, to join.
    action send_invitation(bit<16> edge, bit<32> nonce, bit<48> mac, bit<32> answer_ns, bit<9> port) {
        kind = OpticalKind.INVITATION;
        dst_edge = edge;
        egress_port = port;
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
    action send_configuration(bit<16> edge, bit<32> session, bit<32> slot_ns, bit<32> guard_ns, bit<16> slots,
                              bit<16> hold_frames, bit<64> phase_ns, bit<9> port) {
        kind = OpticalKind.CONFIGURATION;
        dst_edge = edge;
        egress_port = port;
        hdr.configuration.setValid();
        hdr.configuration.session = session;
        hdr.configuration.slot_ns = slot_ns;
        hdr.configuration.guard_ns = guard_ns;
        hdr.configuration.slots = slots;
        hdr.configuration.hold_frames = hold_frames;
        hdr.configuration.phase_ns = phase_ns;
    }

    // To the master to be measured, or from the master what was measured.
    action send_sync(bit<16> edge, bit<9> port) {
        kind = OpticalKind.SYNC;
        dst_edge = edge;
        egress_port = port;
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

    @hidden action write_commit() {
        hdr.commit.setValid();
        hdr.commit.frame = hdr.slot_tick.frame;
        active_version.read(hdr.commit.active_version, meta.core);
        next_version.read(hdr.commit.next_version, meta.core);
        next_frame.read(hdr.commit.first_frame, meta.core);
    }

    @hidden action write_shutdown() {
        hdr.fault.setValid();
        member_session.read(hdr.fault.session, (bit<32>)dst_edge);
        hdr.fault.frame = hdr.slot_tick.frame;
        hdr.fault.code = (bit<8>)FaultCode.SHUTDOWN;
        hdr.fault.flags = 0;
        hdr.fault.edge = meta.edge_id;
    }

    apply {
        if (signaling.apply().hit) {
            shutting_down.read(ending, meta.core);
            if (kind == OpticalKind.COMMIT && meta.is_master == 0) {
                meta.drop_reason = DropReason.BAD_COMMIT;
            } else if ((kind == OpticalKind.INVITATION || kind == OpticalKind.CONFIGURATION) && meta.inviting == 0) {
                meta.drop_reason = DropReason.NOT_A_MEMBER;
            } else if (kind == OpticalKind.SYNC && meta.inviting == 0 && meta.by_invitation == 0) {
                meta.drop_reason = DropReason.NOT_A_MEMBER;
            } else if (meta.inviting == 1 && (bit<32>)dst_edge >= MAX_MEMBERS) {
                meta.drop_reason = DropReason.NOT_A_MEMBER;
            } else if ((hdr.slot_tick.frame & frame_mask) != 0) {
                meta.drop_reason = DropReason.NO_SIGNALING;
            } else if (kind == OpticalKind.REQUEST && (bit<32>)requested >= MAX_QUEUES / (bit<32>)REQUEST_ENTRIES) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else if (kind == OpticalKind.COMMIT) {
                // A master that ends tells its slaves so instead.
                if (ending == 1 && egress_port != PORT_CORE_CONTROL) {
                    kind = OpticalKind.FAULT;
                    write_shutdown();
                } else {
                    write_commit();
                }
            } else if (kind == OpticalKind.SYNC) {
                write_sync.apply(hdr, meta, dst_edge);
            } else if (kind == OpticalKind.REQUEST) {
                write_request.apply(hdr, meta, requested);
            }
        }
        if (meta.drop_reason == DropReason.NONE) {
            encapsulate.apply(hdr.ethernet, hdr.optical, kind, 0, meta.edge_id, dst_edge, SIGNALING_QUEUE);
            hdr.optical.inner_type = 0;
            hdr.linecard.setInvalid();
            hdr.slot_tick.setInvalid();
            if (egress_port == PORT_CPU) {
                hdr.optical.core = (bit<8>)meta.core;
                hdr.packet_in.setValid();
                hdr.packet_in.ingress_port = standard_metadata.ingress_port;
                hdr.packet_in._pad = 0;
            }
            standard_metadata.egress_spec = egress_port;
        }
    }
}

#endif
