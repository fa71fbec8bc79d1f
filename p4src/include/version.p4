// SPDX-License-Identifier: Apache-2.0
// Which version of the schedule is in force, and which comes. The bank of a version is its lowest bit.
//
//   beacon ──> LearnVersion ──> known_*, next_* ──> FlipVersion at a slot's start ──> active_version
#ifndef SLOTWISE_VERSION_P4
#define SLOTWISE_VERSION_P4
#include "headers.p4"

// By core, since an edge is in several stars; a core's own are at 0.
register<bit<32>>(MAX_CORES) active_version;  // changes at a slot's start only
register<bit<32>>(MAX_CORES) known_version;   // in force from known_frame on, says the master
register<bit<32>>(MAX_CORES) known_frame;
register<bit<32>>(MAX_CORES) next_version;    // equals known_version when nothing is announced
register<bit<32>>(MAX_CORES) next_frame;      // from which next_version holds

// At a slot's start: the newest version whose frame has come at this switch is in force.
control FlipVersion(in bit<32> core, in bit<32> frame, out bit<32> active) {
    bit<32> first_frame;
    bit<32> told_frame;

    apply {
        active_version.read(active, core);
        next_frame.read(first_frame, core);
        known_frame.read(told_frame, core);
        if (frame >= first_frame) {
            next_version.read(active, core);
        } else if (frame >= told_frame) {
            known_version.read(active, core);
        }
        active_version.write(core, active);
    }
}

// Takes over what a beacon of the master says. What is in force does not change before the next slot's
// start: a beacon that comes before its frame, or after a flip that it announces, does no harm.
control LearnVersion(in bit<32> core, in commit_t beacon, inout DropReason drop_reason) {
    apply {
        if (beacon.next_version != beacon.active_version && beacon.next_version[0:0] == beacon.active_version[0:0]) {
            drop_reason = DropReason.BAD_COMMIT;
        } else {
            known_version.write(core, beacon.active_version);
            known_frame.write(core, beacon.frame);
            next_version.write(core, beacon.next_version);
            next_frame.write(core, beacon.first_frame);
        }
    }
}

#endif
