// SPDX-License-Identifier: Apache-2.0
// What there is to know of a message and of this edge, for the rules of include/sort.p4.
#ifndef SLOTWISE_TNA_EDGE_SORT_P4
#define SLOTWISE_TNA_EDGE_SORT_P4
#include "looking.p4"
#include "../include/edge_parser.p4"

control LookAtTraits(in edge_headers_t hdr, in edge_metadata_t meta, inout bit<9> traits) {
    bit<16> for_us = 0;  // differences: 0 if alike
    bit<16> from_master = 0;

    @hidden action compare() {
        traits = 0;
        for_us = hdr.optical.dst_edge ^ meta.edge_id;
        from_master = hdr.optical.src_edge ^ meta.master;
    }

    apply {
        compare();
        if (hdr.optical.isValid()) {
            traits[8:8] = 1;
        }
        if (meta.core != NO_CORE) {
            traits[7:7] = 1;
        }
        if (hdr.optical.isValid() && for_us == 0) {
            traits[6:6] = 1;
        }
        if (hdr.optical.isValid() && from_master == 0) {
            traits[5:5] = 1;
        }
        if (meta.is_master == 1) {
            traits[3:3] = 1;
        }
        if (meta.out_of_band == 1) {
            traits[0:0] = 1;
        }
    }
}

// Instead of the action of this name.
#define LOOK_AT_TRAITS
#define LOOKS_AT_TRAITS LookAtTraits() look_at_traits;
#define look() look_at_traits.apply(hdr, meta, traits)
#include "../include/sort.p4"
#undef look

#endif
