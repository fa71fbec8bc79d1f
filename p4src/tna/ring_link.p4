// SPDX-License-Identifier: Apache-2.0
// Stands for include/ring_link.p4 and ring_sources.p4: what goes on over a link is counted, with its bytes, which a counter knows. What an
// interval or a window had is the difference of what the switch's agent reads.
#ifndef SLOTWISE_RING_LINK_P4
#define SLOTWISE_RING_LINK_P4
#include "target.p4"
#include "../include/ring_parser.p4"

control CountTransit(in ring_headers_t hdr, in ring_metadata_t meta) {
    bit<9> source = 0;

    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) place;

    // By ringlet and station, of fair classes.
    Counter<bit<64>, bit<9>>(512, CounterType_t.PACKETS_AND_BYTES) source_traffic;
    // By ringlet, of the others.
    Counter<bit<64>, bit<1>>(2, CounterType_t.PACKETS_AND_BYTES) committed_traffic;

    @hidden action find_source() {
        source = place.get({ meta.ringlet[0:0], hdr.ring.source[7:0] });
    }

    apply {
        find_source();
        if (hdr.ring.traffic_class == RingClass.BEST_EFFORT || hdr.ring.traffic_class == RingClass.EXCESS) {
            source_traffic.count(source);
        } else {
            committed_traffic.count(meta.ringlet[0:0]);
        }
    }
}

#endif
