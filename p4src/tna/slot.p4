// SPDX-License-Identifier: Apache-2.0
// Stands for include/slot.p4: what a slot tick leads to. The tick at a slot's start opens a gate, and with a packet generator another one at
// its end shuts it; the further ticks of a signaling slot become signaling messages.
#ifndef SLOTWISE_SLOT_P4
#define SLOTWISE_SLOT_P4
#include "counting.p4"
#include "signaling.p4"
#include "../include/edge_parser.p4"

// The gate of the slot's queue, in the bank of the version in force.
control Schedule(in edge_headers_t hdr, in port_t star_port, in bit<1> fresh, in bit<1> shuts, inout edge_metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) slot_schedule_counter;

    action grant(queue_t queue) {
        meta.queue = queue;
        COUNT(slot_schedule_counter)
    }

    action idle_slot() {
        meta.drop_reason = DropReason.NO_SIGNALING;
    }

    table slot_schedule {
        key = {
            meta.core:                 exact @name("core");
            meta.versions.active[0:0]: exact @name("bank");
            hdr.slot_tick.slot:        exact @name("slot");
        }
        actions = {
            grant;
            @defaultonly idle_slot;
        }
        const default_action = idle_slot();
        counters = slot_schedule_counter;
        size = 8192;
    }

    @hidden action open_gate() {
        meta.to_linecard = 1;
        meta.egress_port = star_port;
    }

    apply {
        if (slot_schedule.apply().hit) {
            if (meta.queue > SIGNALING_QUEUE) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else if (meta.queue != SIGNALING_QUEUE && fresh == 0 && shuts == 0) {
                meta.drop_reason = DropReason.UNSYNCHRONIZED;
            } else {
                open_gate();
            }
        }
    }
}

control Slot(inout edge_headers_t hdr, in port_t star_port, in bit<1> fresh, in bit<1> shuts, inout edge_metadata_t meta) {
    @name(".EdgeIngress") Schedule() schedule;
    @name(".EdgeIngress") Signaling() signaling;

    apply {
        if (hdr.slot_tick.repeat == 0) {
            schedule.apply(hdr, star_port, fresh, shuts, meta);
        } else {
            signaling.apply(hdr, fresh, meta);
        }
    }
}

#endif
