// SPDX-License-Identifier: Apache-2.0
// Stands for include/ring_emit.p4.
#ifndef SLOTWISE_RING_EMIT_P4
#define SLOTWISE_RING_EMIT_P4
#include "target.p4"
#include "../include/ring_parser.p4"

Register<bit<32>, bit<13>>(8192) add_sequences;  // last one given out, by ringlet, class and hops

// By the port where the ringlet goes on.
control LeaveByRinglet(in bit<4> ringlet, inout standard_metadata_t standard_metadata) {
    apply {
        if (ringlet == 1) {
            standard_metadata.egress_spec = PORT_RING_WEST;
        } else {
            standard_metadata.egress_spec = PORT_RING_EAST;
        }
    }
}

control AddToRing(inout ring_headers_t hdr, in bit<8> most_hops, inout ring_metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<13> at = 0;

    Hash<bit<13>>(HashAlgorithm_t.IDENTITY) place;
    LeaveByRinglet() leave;

    RegisterAction<bit<32>, bit<13>, bit<32>>(add_sequences) give_out = {
        void apply(inout bit<32> value, out bit<32> sequence) {
            value = value + 1;
            sequence = value;
        }
    };

    @hidden action add() {
        hdr.ring.setValid();
        hdr.ring.version = RING_VERSION;
        hdr.ring.kind = RingKind.DATA;
        hdr.ring.ttl = most_hops;
        hdr.ring.ringlet = meta.ringlet;
        hdr.ring.traffic_class = meta.traffic_class;
        hdr.ring.weight = meta.weight;
        hdr.ring.source = meta.station;
        hdr.ring.destination = meta.destination;
        hdr.ring_data.setValid();
        hdr.ring_data.queue = 4w0 ++ (bit<4>)meta.traffic_class ++ meta.hops;
        hdr.ring_data.inner_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
    }

    @hidden action number() {
        at = place.get({ meta.ringlet[0:0], (bit<4>)meta.traffic_class, meta.hops });
    }

    @hidden action give_number() {
        hdr.ring_data.sequence = give_out.execute(at);
    }

    apply {
        add();
        number();
        give_number();
        leave.apply(meta.ringlet, standard_metadata);
    }
}

control PassOn(inout ring_headers_t hdr, in ring_metadata_t meta, inout standard_metadata_t standard_metadata) {
    LeaveByRinglet() leave;

    @hidden action pass_on() {
        hdr.ring.ttl = hdr.ring.ttl - 1;
    }

    apply {
        pass_on();
        leave.apply(meta.ringlet, standard_metadata);
    }
}

#endif
