// SPDX-License-Identifier: Apache-2.0
// Stands for include/signaling.p4: one tick of a signaling slot becomes one message, a request or a beacon, in place. A request gets its entries
// behind the traffic manager (reports.p4).
//
//   tick ──> signaling ──> message ──> request_t, commit_t
#ifndef SLOTWISE_SIGNALING_P4
#define SLOTWISE_SIGNALING_P4
#include "counting.p4"
#include "../include/edge_parser.p4"

control Signaling(inout edge_headers_t hdr, in bit<1> fresh, inout edge_metadata_t meta) {
    bit<16> requested = 0;
    bit<32> masked = 0;
    bit<1>  is_masked = 0;
    bit<1>  is_beyond = 0;  // a block of queues that are not there

    // A copy that may lie anywhere: what is only moved has to lie by what it is compared with.
    Hash<frame_t>(HashAlgorithm_t.IDENTITY) frame_of_request;
    Hash<frame_t>(HashAlgorithm_t.IDENTITY) frame_of_commit;

    direct_counter(CounterType.packets_and_bytes) signaling_counter;

    // `block` of this edge's queues, to the master or (the master's own) to PORT_CPU.
    action send_request(bit<16> block, port_t port) {
        meta.kind = OpticalKind.REQUEST;
        requested = block;
        meta.dst_edge = meta.master;
        meta.egress_port = port;
        COUNT(signaling_counter)
    }

    // The same, only in frames whose number has no bit of `mask`: for a controller that does not take all of them.
    action send_request_every(bit<16> block, bit<32> mask, port_t port) {
        meta.kind = OpticalKind.REQUEST;
        requested = block;
        meta.dst_edge = meta.master;
        meta.egress_port = port;
        masked = hdr.slot_tick.frame & mask;
        COUNT(signaling_counter)
    }

    // The beacon for a slave, or for the core by PORT_CORE_CONTROL.
    action send_commit(edge_t edge, port_t port) {
        meta.kind = OpticalKind.COMMIT;
        meta.dst_edge = edge;
        meta.egress_port = port;
        COUNT(signaling_counter)
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
            @defaultonly no_message;
        }
        const default_action = no_message();
        counters = signaling_counter;
        size = 1024;
    }

    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action write_message() {
        meta.duty = Duty.SEND_MESSAGE;
        meta.to_fibre = 1;
        meta.queue = SIGNALING_QUEUE;
    }

    @hidden action write_request() {
        write_message();
        hdr.request.setValid();
        hdr.request.active_version = meta.versions.active;
        hdr.request.next_version = meta.versions.next;
        hdr.request.block = requested;
        hdr.request.flags = 15w0 ++ fresh;
    }

    @hidden action write_commit() {
        write_message();
        hdr.commit.setValid();
        hdr.commit.active_version = meta.versions.active;
        hdr.commit.next_version = meta.versions.next;
        hdr.commit.first_frame = meta.versions.next_frame;
    }

    @hidden action date_request() {
        hdr.request.frame = frame_of_request.get({ hdr.slot_tick.frame });
    }

    @hidden action date_commit() {
        hdr.commit.frame = frame_of_commit.get({ hdr.slot_tick.frame });
    }

    // The first rule that applies counts.
    @hidden table message {
        key = {
            meta.kind:      ternary;
            meta.is_master: ternary;
            is_masked:      ternary;
            is_beyond:      ternary;
        }
        actions = {
            refuse;
            write_request;
            write_commit;
        }
        const default_action = refuse(DropReason.NO_SIGNALING);
        const entries = {
            (OpticalKind.COMMIT, 0, _, _):  refuse(DropReason.BAD_COMMIT);
            (_, _, 1, _):                   refuse(DropReason.NO_SIGNALING);
            (OpticalKind.REQUEST, _, _, 1): refuse(DropReason.BAD_QUEUE);
            (OpticalKind.REQUEST, _, _, _): write_request();
            (OpticalKind.COMMIT, _, _, _):  write_commit();
        }
    }

    apply {
        if (signaling.apply().hit) {
            if (masked != 0) {
                is_masked = 1;
            }
            if (requested[15:6] != 0) {
                is_beyond = 1;
            }
            message.apply();
            if (meta.kind == OpticalKind.REQUEST) {
                date_request();
            } else {
                date_commit();
            }
        }
    }
}

#endif
