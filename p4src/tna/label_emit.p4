// SPDX-License-Identifier: Apache-2.0
// Stands for include/emit.p4, of edges of optical packet switches.
#ifndef SLOTWISE_EMIT_P4
#define SLOTWISE_EMIT_P4
#include "target.p4"
#include "../include/edge_parser.p4"

Register<bit<32>, bit<10>>(MAX_QUEUES) sequences;  // last one given out, by queue

// Puts an optical header between Ethernet and what follows.
control Encapsulate(inout edge_headers_t hdr, in edge_metadata_t meta, in bit<10> cell, inout standard_metadata_t standard_metadata) {
    RegisterAction<bit<32>, bit<10>, bit<32>>(sequences) give_out = {
        void apply(inout bit<32> value, out bit<32> sequence) {
            value = value + 1;
            sequence = value;
        }
    };

    @hidden action encapsulate() {
        hdr.optical.setValid();
        hdr.optical.version = OPTICAL_VERSION;
        hdr.optical.kind = OpticalKind.DATA;
        hdr.optical.traffic_class = meta.traffic_class;
        hdr.optical.src_edge = meta.edge_id;
        hdr.optical.dst_edge = meta.dst_edge;
        hdr.optical.queue = meta.queue;
        hdr.optical.train = meta.train_part;
        hdr.optical.core = 0;
        hdr.optical.inner_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        standard_metadata.egress_spec = meta.egress_port;
    }

    @hidden action give_number() {
        hdr.optical.sequence = give_out.execute(cell);
    }

    apply {
        encapsulate();
        give_number();
    }
}

#endif
