// SPDX-License-Identifier: Apache-2.0
// The master's part of a commit: what the controller stages is announced at the next frame's first slot.
#ifndef SLOTWISE_MASTER_P4
#define SLOTWISE_MASTER_P4
#include "version.p4"

register<bit<32>>(MAX_CORES) staged_version;
register<bit<32>>(MAX_CORES) staged_frame;  // earliest frame wanted
register<bit<32>>(MAX_CORES) order_frame;   // of the controller's last shutdown, or of its end
register<bit<1>>(MAX_CORES)  shutting_down;

// A commit from the controller: only the version after the one in force, once, and for a frame that is near. While a
// version is announced the other bank is not free, so nothing more may be staged.
control StageVersion(in bit<32> core, in commit_t commit, inout DropReason drop_reason) {
    bit<32> now;
    bit<32> active;
    bit<32> next;
    bit<32> staged;
    int<32> lead;

    apply {
        current_frame.read(now, core);
        active_version.read(active, core);
        next_version.read(next, core);
        staged_version.read(staged, core);
        lead = (int<32>)(commit.first_frame - now);
        if ((int<32>)(commit.next_version - next) <= 0) {
            drop_reason = DropReason.STALE;
        } else if (next != active || commit.next_version != active + 1) {
            drop_reason = DropReason.BAD_COMMIT;
        } else if (commit.next_version == staged || lead < -(int<32>)ORDER_WINDOW) {
            drop_reason = DropReason.STALE;
        } else if (lead > (int<32>)MAX_COMMIT_LEAD) {
            drop_reason = DropReason.BAD_FIELD;
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
        if (next == active && staged == active + 1) {
            first_frame = frame + 1;
            if (hold > 1) {
                first_frame = frame + hold;
            }
            staged_frame.read(wanted_frame, core);
            if ((int<32>)(wanted_frame - first_frame) > 0) {
                first_frame = wanted_frame;
            }
            known_version.write(core, active);
            known_frame.write(core, frame);
            next_version.write(core, staged);
            next_frame.write(core, first_frame);
        }
    }
}

// The controller wants the master to end, or takes that back. Orders are numbered by frames.
control TakeOrder(in bit<32> core, in fault_t order, inout DropReason drop_reason) {
    bit<32> now;
    bit<32> last;

    CheckFrame() check_frame;

    apply {
        current_frame.read(now, core);
        order_frame.read(last, core);
        check_frame.apply(order.frame, now, ORDER_WINDOW, drop_reason);
        if (order.code != (bit<8>)FaultCode.SHUTDOWN || order.session != 0 || order.flags > 1) {
            drop_reason = DropReason.BAD_FIELD;
        } else if (drop_reason == DropReason.NONE && (int<32>)(order.frame - last) <= 0
                   && now + FRAME_LEAD - last <= ORDER_WINDOW + FRAME_LEAD) {
            drop_reason = DropReason.STALE;
        }
        if (drop_reason == DropReason.NONE) {
            order_frame.write(core, order.frame);
            shutting_down.write(core, (bit<1>)(~order.flags[0:0]));
        }
    }
}

#endif
