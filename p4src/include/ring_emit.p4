// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_RING_EMIT_P4
#define SLOTWISE_RING_EMIT_P4
#include "ring_parser.p4"

register<bit<32>>(2 * MAX_QUEUES) add_sequences;  // last one given out, by ringlet and add queue

// By the port where the ringlet goes on.
#define LEAVE_BY_RINGLET \
    standard_metadata.egress_spec = PORT_RING_EAST; \
    if (meta.ringlet == 1) { \
        standard_metadata.egress_spec = PORT_RING_WEST; \
    }

control AddToRing(inout ring_headers_t hdr, inout ring_metadata_t meta, inout standard_metadata_t standard_metadata) {
    index_t at;

    @hidden action add() {
        hdr.ring.setValid();
        hdr.ring.version = RING_VERSION;
        hdr.ring.kind = RingKind.DATA;
        hdr.ring.ttl = (bit<8>)meta.stations;
        hdr.ring.ringlet = meta.ringlet;
        hdr.ring.traffic_class = meta.traffic_class;
        hdr.ring.weight = meta.weight;
        hdr.ring.source = meta.station;
        hdr.ring.destination = meta.destination;
        hdr.ring_data.setValid();
        hdr.ring_data.queue = ((queue_t)(bit<4>)meta.traffic_class << 8) + (queue_t)meta.hops;
        hdr.ring_data.inner_type = hdr.ethernet.ether_type;
        at = (meta.link << 10) + (index_t)hdr.ring_data.queue;
        add_sequences.read(hdr.ring_data.sequence, at);
        hdr.ring_data.sequence = hdr.ring_data.sequence + 1;
        add_sequences.write(at, hdr.ring_data.sequence);
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        LEAVE_BY_RINGLET
    }

    apply {
        add();
    }
}

control PassOn(inout ring_headers_t hdr, in ring_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action pass_on() {
        hdr.ring.ttl = hdr.ring.ttl - 1;
        LEAVE_BY_RINGLET
    }

    apply {
        pass_on();
    }
}

#endif
