// SPDX-License-Identifier: Apache-2.0
// What there is to know of a packet, for the rules.
#ifndef SLOTWISE_RING_SORT_P4
#define SLOTWISE_RING_SORT_P4
#include "access.p4"
#include "ring_rules.p4"

control RingSort(in ring_headers_t hdr, inout ring_metadata_t meta) {
    bit<9> traits;

    @hidden action look() {
        traits = 0;
        if (meta.ringlet != RINGLETS) {
            traits = traits | ON_RINGLET;
        }
        if (hdr.ring.isValid()) {
            if (hdr.ring.source < meta.stations) {
                traits = traits | OF_A_STATION;
            }
            if (hdr.ring.source == meta.station) {
                traits = traits | OURS;
            }
            if (hdr.ring.destination == meta.station) {
                traits = traits | FOR_US;
            }
            if (hdr.ring.ttl <= 1) {
                traits = traits | LAST_HOP;
            }
            if (hdr.ring.source == meta.downstream) {
                traits = traits | FROM_NEXT;
            }
        }
        if (meta.mode == RingMode.CONTROLLER) {
            traits = traits | BY_CONTROLLER;
        }
        if (IS_FORWARDABLE(hdr.ipv4)) {
            traits = traits | FORWARDABLE;
        }
        if (hdr.ring_tick.isValid() && hdr.ring_tick.repeat == 0) {
            traits = traits | FIRST_TICK;
        }
    }

    @name(".RingIngress.sort") RingRules() rules;

    apply {
        look();
        rules.apply(traits, meta);
    }
}

#endif
