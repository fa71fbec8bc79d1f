// SPDX-License-Identifier: Apache-2.0
// What there is to know of a message and of this edge, for the rules of include/edge_rules.p4.
#ifndef SLOTWISE_TNA_EDGE_SORT_P4
#define SLOTWISE_TNA_EDGE_SORT_P4
#include "aside.p4"
#include "../include/edge_rules.p4"

// Each is found for itself, and put in its place by a hash that changes nothing.
control LookAtTraits(in edge_headers_t hdr, in edge_metadata_t meta, in bit<16> for_us, in bit<8> member_state, out bit<9> traits) {
    bit<16> from_master = 0;  // 0 if alike, as for_us
    bit<1>  is_optical = 0;
    bit<1>  in_star = 0;
    bit<1>  is_for_us = 0;
    bit<1>  is_from_master = 0;
    bit<1>  has_joined = 0;

    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) place;

    @hidden action compare() {
        from_master = hdr.optical.src_edge ^ meta.master;
    }

    @hidden action join() {
        traits = place.get({ is_optical, in_star, is_for_us, is_from_master, has_joined, meta.is_master, meta.inviting, meta.by_invitation,
                             meta.out_of_band });
    }

    apply {
        compare();
        if (hdr.optical.isValid()) {
            is_optical = 1;
        }
        if (meta.core != NO_CORE) {
            in_star = 1;
        }
        if (for_us == 0) {
            is_for_us = 1;
        }
        if (from_master == 0) {
            is_from_master = 1;
        }
        if (member_state != (bit<8>)MemberState.OUT) {
            has_joined = 1;
        }
        join();
    }
}

#endif
