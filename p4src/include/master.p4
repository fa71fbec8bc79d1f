// SPDX-License-Identifier: Apache-2.0
// The master's part of a commit: what the controller stages is announced at the next frame's first slot.
#ifndef SLOTWISE_MASTER_P4
#define SLOTWISE_MASTER_P4
#include "version.p4"

register<bit<32>>(MAX_CORES) staged_version;
register<bit<32>>(MAX_CORES) staged_frame;  // earliest frame wanted

// A commit from the controller. While a version is announced the other bank is not free, so nothing
// more may be staged.
control StageVersion(in bit<32> core, in commit_t commit, inout DropReason drop_reason) {
    bit<32> active;
    bit<32> next;

    apply {
        active_version.read(active, core);
        next_version.read(next, core);
        if (next != active || commit.next_version[0:0] == active[0:0]) {
            drop_reason = DropReason.BAD_COMMIT;
        } else {
            staged_version.write(core, commit.next_version);
            staged_frame.write(core, commit.first_frame);
        }
    }
}

// At the master's first slot of a frame. A slave trusts a beacon for `hold` frames, so an announcement
// holds `hold` frames later (one at least): who has not heard it by then is dark. It is made once, for it
// would move if it were made again.
control AnnounceVersion(in bit<32> core, in bit<32> frame, in bit<32> hold) {
    bit<32> active;
    bit<32> next;
    bit<32> staged;
    bit<32> wanted_frame;
    bit<32> first_frame;

    apply {
        active_version.read(active, core);
        next_version.read(next, core);
        staged_version.read(staged, core);
        if (next == active && staged[0:0] != active[0:0]) {
            first_frame = frame + 1;
            if (hold > 1) {
                first_frame = frame + hold;
            }
            staged_frame.read(wanted_frame, core);
            if (wanted_frame > first_frame) {
                first_frame = wanted_frame;
            }
            known_version.write(core, active);
            known_frame.write(core, frame);
            next_version.write(core, staged);
            next_frame.write(core, first_frame);
        }
    }
}

#endif
