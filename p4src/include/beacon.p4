// SPDX-License-Identifier: Apache-2.0
// The master's beacon at a slave, as light or, out of band, from the controller.
#ifndef SLOTWISE_BEACON_P4
#define SLOTWISE_BEACON_P4
#include "edge_parser.p4"
#include "membership.p4"
#include "schedule.p4"
#include "version.p4"

control TakeBeacon(in edge_headers_t hdr, inout edge_metadata_t meta) {
    LearnVersion() learn;

    apply {
        if (meta.is_master == 1 || hdr.optical.src_edge != meta.master) {
            meta.drop_reason = DropReason.BAD_COMMIT;
        } else if (meta.by_invitation == 1 && meta.session == 0) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else {
            learn.apply(meta.core, hdr.commit, meta.drop_reason);
        }
        if (meta.drop_reason == DropReason.NONE) {
            stale_frame.write(meta.core, hdr.commit.frame + meta.beacon_hold_frames + 1);
        }
    }
}

#endif
