// SPDX-License-Identifier: Apache-2.0
// The master's part of a commit: what the controller stages is announced at the next frame's first slot.
#ifndef SLOTWISE_MASTER_P4
#define SLOTWISE_MASTER_P4
#include "version.p4"

register<version_t>(MAX_CORES) staged_version;
register<frame_t>(MAX_CORES)   staged_frame;  // earliest frame wanted
register<frame_t>(MAX_CORES)   order_frame;   // of the controller's last shutdown, or of its end
register<bit<1>>(MAX_CORES)    shutting_down;

// A commit from the controller: only the version after the one in force, once, and for a frame that is near. While a
// version is announced the other bank is not free, so nothing more may be staged.
#define EXAMINE_STAGE(versions, commit, staged, wrong) \
    if (!IS_NEWER(commit.next_version, versions.next)) { \
        wrong.superseded = 1; \
    } \
    if (versions.next != versions.active || commit.next_version != versions.active + 1) { \
        wrong.bad_commit = 1; \
    } \
    if (commit.next_version == staged || (int<32>)(commit.first_frame - versions.now) < -(int<32>)ORDER_WINDOW) { \
        wrong.stale = 1; \
    } \
    if ((int<32>)(commit.first_frame - versions.now) > (int<32>)MAX_COMMIT_LEAD) { \
        wrong.bad_field = 1; \
    }

// The controller wants the master to end, or takes that back. Orders are numbered by frames.
#define EXAMINE_ORDER(versions, order, last, wrong) \
    if (order.code != FaultCode.SHUTDOWN || order.session != 0 || order.flags > 1) { \
        wrong.bad_content = 1; \
    } \
    EXAMINE_FRAME(order.frame, versions.now, ORDER_WINDOW, wrong) \
    if (!IS_NEWER(order.frame, last) && !IS_OUTSIDE(last, versions.now, ORDER_WINDOW)) { \
        wrong.stale = 1; \
    }

// At the master's first slot of a frame. A slave trusts a beacon for `hold` frames, so an announcement
// holds `hold` frames later (one at least): who has not heard it by then is dark. It is made once, for it
// would move if it were made again.
control AnnounceVersion(in core_t core, in frame_t frame, in bit<32> hold, inout versions_t versions) {
    version_t staged;
    frame_t   wanted_frame;
    frame_t   first_frame;

    @hidden action announce() {
        staged_version.read(staged, core);
        if (versions.next == versions.active && staged == versions.active + 1) {
            first_frame = frame + 1;
            if (hold > 1) {
                first_frame = frame + hold;
            }
            staged_frame.read(wanted_frame, core);
            if (IS_NEWER(wanted_frame, first_frame)) {
                first_frame = wanted_frame;
            }
            known_version.write(core, versions.active);
            known_frame.write(core, frame);
            next_version.write(core, staged);
            next_frame.write(core, first_frame);
        }
    }

    apply {
        announce();
    }
}

#endif
