// SPDX-License-Identifier: Apache-2.0
// The master's part of synchronization: it measures T_d of each edge by the edge's SYNC messages, and tells the
// edge in its next signaling slot. The controller sees each measurement and does nothing for it.
#ifndef SLOTWISE_MEASURE_P4
#define SLOTWISE_MEASURE_P4
#include "edge_parser.p4"
#include "membership.p4"

// By edge, below MAX_MEMBERS: an edge is master of one star at most.
register<bit<32>>(MAX_MEMBERS) member_session;
register<bit<32>>(MAX_MEMBERS) told_frame;     // of the newest measurement
register<bit<64>>(MAX_MEMBERS) told_edge_ns;
register<bit<64>>(MAX_MEMBERS) told_phase;
register<bit<1>>(MAX_MEMBERS)  told_due;       // measured, and not yet told

// Which edges have joined, and by which fibre they speak.
control Members(inout edge_headers_t hdr, inout edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets) member_counter;

    action accept_session(bit<32> session) {
        meta.session = session;
    }

    action stranger() {
        meta.drop_reason = DropReason.NOT_A_MEMBER;
    }

    table member {
        key = {
            hdr.optical.src_edge:           exact @name("edge");
            standard_metadata.ingress_port: exact @name("port");
        }
        actions = {
            accept_session;
            @defaultonly stranger;
        }
        const default_action = stranger();
        counters = member_counter;
        size = 256;
    }

    apply {
        if (!member.apply().hit) {
            meta.session = 0;
        } else if ((bit<32>)hdr.optical.src_edge >= MAX_MEMBERS) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        }
    }
}

// T_d = received - sent - the way from the core to here, which is the master's own T_d (equation 3.3 of the AAPN thesis).
control Measure(in edge_headers_t hdr, inout edge_metadata_t meta) {
    bit<32> frame;
    bit<32> last_frame;
    bit<32> last_session;
    bit<64> phase;
    bit<32> edge;

    apply {
        edge = (bit<32>)hdr.optical.src_edge;
        current_frame.read(frame, meta.core);
        told_frame.read(last_frame, edge);
        member_session.read(last_session, edge);
        phase = hdr.stamp.received_ns - hdr.stamp.sent_ns - meta.own_phase_ns;
        if (hdr.sync.session != meta.session) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (frame - hdr.sync.frame > 1
                   || (last_session == meta.session && (int<32>)(hdr.sync.frame - last_frame) <= 0)) {
            meta.drop_reason = DropReason.STALE;
        } else if (phase + MAX_PHASE_NS > 2 * MAX_PHASE_NS) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            member_session.write(edge, hdr.sync.session);
            told_frame.write(edge, hdr.sync.frame);
            told_edge_ns.write(edge, hdr.stamp.sent_ns);
            told_phase.write(edge, phase);
            told_due.write(edge, 1);
        }
    }
}

#endif
