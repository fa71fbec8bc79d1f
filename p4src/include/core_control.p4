// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_CORE_CONTROL_P4
#define SLOTWISE_CORE_CONTROL_P4
#include "core_parser.p4"
#include "version.p4"

register<slot_t>(1)  current_slot;
register<clock_t>(1) slot_start;  // this switch's clock

// What a core knows about its timing; one default action that the controller sets.
control CoreParams(inout core_metadata_t meta) {
    action set_core_params(clock_t guard, clock_t slot, clock_t time_per_byte_q16) {
        meta.guard = guard;
        meta.slot = slot;
        meta.time_per_byte_q16 = time_per_byte_q16;
    }

    table core_params {
        actions = {
            set_core_params;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    apply {
        core_params.apply();
    }
}

// The core's control unit ticks at each slot's start.
control CoreClock(in core_headers_t hdr,
                  inout core_metadata_t meta,
                  in standard_metadata_t standard_metadata) {
    @hidden action start_slot() {
        READ_VERSIONS(0, meta.versions)
        FLIP_VERSION(0, hdr.slot_tick.frame, meta.versions)
        current_frame.write(0, hdr.slot_tick.frame);
        current_slot.write(0, hdr.slot_tick.slot);
        slot_start.write(0, standard_metadata.ingress_global_timestamp);
    }

    apply {
        if (!hdr.linecard.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.slot_tick.isValid()) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (hdr.slot_tick.repeat != 0) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        } else {
            start_slot();
        }
    }
}

// The master's beacon, over the co-located control link.
control CoreBeacon(in core_headers_t hdr, inout core_metadata_t meta) {
    Verdict() verdict;

    @hidden action examine() {
        READ_VERSIONS(0, meta.versions)
        READ_CLOCK(0, meta.versions)
        EXAMINE_BEACON(meta.versions, hdr.commit, meta.wrong)
    }

    @hidden action take() {
        KEEP_BEACON(0, hdr.commit)
    }

    apply {
        if (!hdr.optical.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.commit.isValid()) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else {
            examine();
            verdict.apply(meta.wrong, meta.drop_reason);
            if (meta.drop_reason == DropReason.NONE) {
                take();
            }
        }
    }
}

#endif
