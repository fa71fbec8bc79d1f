// SPDX-License-Identifier: Apache-2.0
// The master's part of synchronization: it measures T_d of each edge by the edge's SYNC messages, and tells the
// edge in its next signaling slot. The controller sees each measurement and does nothing for it.
#ifndef SLOTWISE_MEASURE_P4
#define SLOTWISE_MEASURE_P4
#include "edge_parser.p4"

// By edge, below MAX_MEMBERS: an edge is master of one star at most.
register<session_t>(MAX_MEMBERS) member_session;
register<frame_t>(MAX_MEMBERS)   told_frame;     // of the newest measurement
register<time_ns_t>(MAX_MEMBERS) told_edge_ns;
register<time_ns_t>(MAX_MEMBERS) told_phase;
register<bit<1>>(MAX_MEMBERS)    told_due;       // measured, and not yet told

// Which edges have joined, and by which fibre they speak.
control Members(in edge_headers_t hdr, inout edge_metadata_t meta, in standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets) member_counter;

    action accept_session(session_t session) {
        meta.session = session;
    }

    action stranger() {
        meta.wrong.not_a_member = 1;
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
        member.apply();
        if (hdr.optical.src_edge >= (edge_t)MAX_MEMBERS) {
            meta.wrong.not_a_member = 1;
        }
    }
}

#endif
