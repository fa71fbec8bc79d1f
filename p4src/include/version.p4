// SPDX-License-Identifier: Apache-2.0
// Which version of the schedule is in force, and which comes. The bank of a version is its lowest bit.
//
//   beacon ──> LearnVersion ──> known_*, next_* ──> FlipVersion at a slot's start ──> active_version
#ifndef SLOTWISE_VERSION_P4
#define SLOTWISE_VERSION_P4
#include "headers.p4"

// By core, since an edge is in several stars; a core's own are at 0.
register<bit<32>>(MAX_CORES) current_frame;   // of this switch's last slot tick
register<bit<32>>(MAX_CORES) active_version;  // changes at a slot's start only
register<bit<1>>(MAX_CORES)  beacon_heard;
register<bit<32>>(MAX_CORES) known_version;   // in force from known_frame on, says the master
register<bit<32>>(MAX_CORES) known_frame;     // of the newest beacon
register<bit<32>>(MAX_CORES) next_version;    // equals known_version when nothing is announced
register<bit<32>>(MAX_CORES) next_frame;      // from which next_version holds

// Whether a message that names the `frame` in which it was made may be of this one, `now`, or not older than `window`.
control CheckFrame(in bit<32> frame, in bit<32> now, in bit<32> window, inout DropReason drop_reason) {
    apply {
        if (now + FRAME_LEAD - frame > window + FRAME_LEAD) {
            drop_reason = DropReason.BAD_FIELD;
            if ((int<32>)(now - frame) > 0) {
                drop_reason = DropReason.STALE;
            }
        }
    }
}

// At a slot's start: the newest version whose frame has come at this switch is in force.
control FlipVersion(in bit<32> core, in bit<32> frame, out bit<32> active) {
    bit<32> first_frame;
    bit<32> told_frame;

    apply {
        active_version.read(active, core);
        next_frame.read(first_frame, core);
        known_frame.read(told_frame, core);
        if ((int<32>)(frame - first_frame) >= 0) {
            next_version.read(active, core);
            // 2^31 frames from now first_frame will be ahead again.
            known_version.write(core, active);
        } else if ((int<32>)(frame - told_frame) >= 0) {
            known_version.read(active, core);
        }
        active_version.write(core, active);
    }
}

// Takes over what a beacon of the master says, if it is newer than the last one. What is in force does not change before
// the next slot's start: a beacon that comes before its frame, or after a flip that it announces, does no harm. Its
// versions may be older than those known: the master has started anew then.
control LearnVersion(in bit<32> core, in commit_t beacon, inout DropReason drop_reason) {
    bit<32> now;
    bit<1>  heard;
    bit<32> heard_frame;

    CheckFrame() check_frame;

    apply {
        current_frame.read(now, core);
        beacon_heard.read(heard, core);
        known_frame.read(heard_frame, core);
        // What was heard longer ago than the window no longer tells old from new.
        if (now + FRAME_LEAD - heard_frame > FRAME_WINDOW + FRAME_LEAD) {
            heard = 0;
        }
        check_frame.apply(beacon.frame, now, FRAME_WINDOW, drop_reason);
        if (beacon.next_version != beacon.active_version && beacon.next_version != beacon.active_version + 1) {
            drop_reason = DropReason.BAD_COMMIT;
        } else if (drop_reason == DropReason.NONE && heard == 1 && (int<32>)(beacon.frame - heard_frame) <= 0) {
            drop_reason = DropReason.STALE;
        } else if (drop_reason == DropReason.NONE && beacon.next_version != beacon.active_version
                   && beacon.first_frame - beacon.frame - 1 >= FRAME_WINDOW) {
            drop_reason = DropReason.BAD_FIELD;
        } else if (drop_reason == DropReason.NONE) {
            beacon_heard.write(core, 1);
            known_version.write(core, beacon.active_version);
            known_frame.write(core, beacon.frame);
            next_version.write(core, beacon.next_version);
            next_frame.write(core, beacon.first_frame);
        }
    }
}

#endif
