// SPDX-License-Identifier: Apache-2.0
// Stands for include/slot.p4: the tick at a slot's start opens a gate, and with a packet generator another one at its end shuts it. The further
// ticks of a signaling slot become messages in side_pipe.p4.
#ifndef SLOTWISE_SLOT_P4
#define SLOTWISE_SLOT_P4
#include "counting.p4"
#include "membership.p4"
#include "../include/edge_parser.p4"

// The gate of the slot's queue, in the bank of the version in force.
control Schedule(in edge_headers_t hdr, in port_t star_port, in bit<1> fresh, in bit<1> shuts, in MayDo may, inout edge_metadata_t meta) {
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

    @hidden action shut_out(DropReason reason) {
        meta.drop_reason = reason;
    }

    // The first rule that applies counts.
    @hidden table gate {
        key = {
            meta.queue: ternary;
            shuts:      ternary;
            fresh:      ternary;
            may:        ternary;
        }
        actions = {
            open_gate;
            shut_out;
        }
        const default_action = shut_out(DropReason.BAD_QUEUE);
        const entries = {
            (SIGNALING_QUEUE, _, _, _):          open_gate();
            (0 &&& 0xfc00, 1, _, _):             open_gate();
            (0 &&& 0xfc00, _, 0, _):             shut_out(DropReason.UNSYNCHRONIZED);
            (0 &&& 0xfc00, _, _, MayDo.SIGNAL):  shut_out(DropReason.UNSYNCHRONIZED);
            (0 &&& 0xfc00, _, _, _):             open_gate();
        }
    }

    apply {
        if (slot_schedule.apply().hit) {
            gate.apply();
        }
    }
}

#endif
