// SPDX-License-Identifier: Apache-2.0
// Which version of the schedule is in force, and which comes. The bank of a version is its lowest bit.
//
//   beacon ──> LearnVersion ──> next_version, next_frame ──> FlipVersion at a slot's start ──> active_version
#ifndef SLOTWISE_VERSION_P4
#define SLOTWISE_VERSION_P4
#include "headers.p4"

register<bit<32>>(1) active_version;
register<bit<32>>(1) next_version;  // equals active_version when nothing is announced
register<bit<32>>(1) next_frame;    // from which next_version holds

// Puts an announced version in force when its frame has come.
control FlipVersion(in bit<32> frame, out bit<32> active) {
    bit<32> first_frame;

    apply {
        active_version.read(active, 0);
        next_frame.read(first_frame, 0);
        if (frame >= first_frame) {
            next_version.read(active, 0);
            active_version.write(0, active);
        }
    }
}

// Takes over what a beacon of the master says. A beacon that comes late does no harm: the next slot
// start flips again what it set back.
control LearnVersion(in commit_t beacon, inout DropReason drop_reason) {
    apply {
        if (beacon.next_version != beacon.active_version && beacon.next_version[0:0] == beacon.active_version[0:0]) {
            drop_reason = DropReason.BAD_COMMIT;
        } else {
            active_version.write(0, beacon.active_version);
            next_version.write(0, beacon.next_version);
            next_frame.write(0, beacon.first_frame);
        }
    }
}

#endif
