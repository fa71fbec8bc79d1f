// SPDX-License-Identifier: Apache-2.0
// Stands for include/ring_sort.p4: what there is to know of a packet, for the rules.
#ifndef SLOTWISE_RING_SORT_P4
#define SLOTWISE_RING_SORT_P4
#include "target.p4"
#include "../include/access.p4"
#include "../include/ring_rules.p4"

control RingSort(in ring_headers_t hdr, inout ring_metadata_t meta) {
    bit<9>  traits = 0;
    bit<16> beyond = 0;       // stations behind the source

    @name(".RingIngress.sort") RingRules() rules;

    @hidden action compare() {
        beyond = meta.stations |-| hdr.ring.source;
    }

    apply {
        compare();
        if (meta.ringlet != RINGLETS) {
            traits[8:8] = 1;
        }
        if (hdr.ring.isValid() && beyond != 0) {
            traits[7:7] = 1;
        }
        if (hdr.ring.isValid() && hdr.ring.source == meta.station) {
            traits[6:6] = 1;
        }
        if (hdr.ring.isValid() && hdr.ring.destination == meta.station) {
            traits[5:5] = 1;
        }
        if (hdr.ring.isValid() && hdr.ring.ttl <= 1) {
            traits[4:4] = 1;
        }
        if (hdr.ring.isValid() && hdr.ring.source == meta.downstream) {
            traits[3:3] = 1;
        }
        if (meta.mode == RingMode.CONTROLLER) {
            traits[2:2] = 1;
        }
        if (IS_FORWARDABLE(hdr.ipv4)) {
            traits[1:1] = 1;
        }
        if (hdr.ring_tick.isValid() && hdr.ring_tick.repeat == 0) {
            traits[0:0] = 1;
        }
        rules.apply(traits, meta);
    }
}

#endif
