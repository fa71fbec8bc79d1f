// SPDX-License-Identifier: Apache-2.0
// What there is to know of a message of the controller or another edge, for the rules.
#ifndef SLOTWISE_SORT_P4
#define SLOTWISE_SORT_P4
#include "edge_rules.p4"

control Sort(in edge_headers_t hdr, inout edge_metadata_t meta) {
    bit<9> traits;

    @hidden action look() {
        traits = 0;
        if (meta.core != NO_CORE) {
            traits = traits | STAR;
            READ_CLOCK(meta.core, meta.versions)
        }
        if (meta.session != 0) {
            traits = traits | JOINED;
        }
        if (hdr.optical.isValid()) {
            traits = traits | OPTICAL;
            if (hdr.optical.dst_edge == meta.edge_id) {
                traits = traits | FOR_US;
            }
            if (hdr.optical.src_edge == meta.master) {
                traits = traits | FROM_MASTER;
            }
        }
        if (meta.is_master == 1) {
            traits = traits | MASTER;
        }
        if (meta.inviting == 1) {
            traits = traits | INVITING;
        }
        if (meta.by_invitation == 1) {
            traits = traits | BY_INVITATION;
        }
        if (meta.out_of_band == 1) {
            traits = traits | OUT_OF_BAND;
        }
    }

    @name(".EdgeIngress.messages.sort") EdgeRules() rules;

    apply {
        look();
        rules.apply(traits, meta);
    }
}

#endif
