// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_CORE_CONTROL_P4
#define SLOTWISE_CORE_CONTROL_P4
#include "core_parser.p4"
#include "version.p4"

register<bit<16>>(1) current_slot;
register<bit<48>>(1) slot_start;  // this switch's clock

// What a core knows about its timing; one default action that the controller sets.
control CoreParams(inout core_metadata_t meta) {
    action set_core_params(bit<48> guard, bit<48> slot, bit<48> time_per_byte_q16) {
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
                  in standard_metadata_t standard_metadata,
                  inout DropReason drop_reason) {
    bit<32> active;

    FlipVersion() flip;

    apply {
        if (!hdr.linecard.isValid()) {
            drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.slot_tick.isValid()) {
            drop_reason = DropReason.BAD_VERSION;
        } else if (hdr.slot_tick.repeat != 0) {
            drop_reason = DropReason.NO_SIGNALING;
        } else {
            flip.apply(0, hdr.slot_tick.frame, active);
            current_frame.write(0, hdr.slot_tick.frame);
            current_slot.write(0, hdr.slot_tick.slot);
            slot_start.write(0, standard_metadata.ingress_global_timestamp);
        }
    }
}

// The master's beacon, over the co-located control link.
control CoreBeacon(in core_headers_t hdr, inout DropReason drop_reason) {
    LearnVersion() learn;

    apply {
        if (!hdr.optical.isValid()) {
            drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.commit.isValid()) {
            drop_reason = DropReason.BAD_VERSION;
        } else {
            learn.apply(0, hdr.commit, drop_reason);
        }
    }
}

#endif
