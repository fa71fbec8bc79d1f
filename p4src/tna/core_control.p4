// SPDX-License-Identifier: Apache-2.0
// Stands for include/core_control.p4: what a core's control unit and its master's beacons lead to.
#ifndef SLOTWISE_CORE_CONTROL_P4
#define SLOTWISE_CORE_CONTROL_P4
#include "version.p4"
#include "../include/core_parser.p4"

Register<slot_t, bit<1>>(1)  current_slot;
Register<ns_t, bit<1>>(1)    slot_start;  // this switch's clock
Register<bit<16>, bit<1>>(1) slot_era;    // the same in 2^32 ns: the control unit may have fallen silent

// What a packet has to do with the core's state.
enum bit<8> CoreDuty {
    NONE    = 0,
    PASS    = 1,  // light
    START   = 2,  // a slot starts
    EXAMINE = 3,  // a beacon has come
    TAKE    = 4   // the same beacon once more: it has been accepted
}

// What a core knows about its timing; one default action that the controller sets. How long a packet lasts is in `packet_time`, which whoever
// sets `time_per_byte_q16` fills.
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

// When the slot has started in which a packet comes at `now`.
control CoreSlot(in CoreDuty duty, in slot_t tick_slot, in bit<48> now, inout slot_t slot, inout ns_t start, inout bit<16> era) {
    RegisterAction<slot_t, bit<1>, slot_t>(current_slot) put_slot = {
        void apply(inout slot_t value) {
            value = tick_slot;
        }
    };
    RegisterAction<slot_t, bit<1>, slot_t>(current_slot) get_slot = {
        void apply(inout slot_t value, out slot_t read) {
            read = value;
        }
    };
    RegisterAction<ns_t, bit<1>, ns_t>(slot_start) put_start = {
        void apply(inout ns_t value) {
            value = now[31:0];
        }
    };
    RegisterAction<ns_t, bit<1>, ns_t>(slot_start) get_start = {
        void apply(inout ns_t value, out ns_t read) {
            read = value;
        }
    };
    RegisterAction<bit<16>, bit<1>, bit<16>>(slot_era) put_era = {
        void apply(inout bit<16> value) {
            value = now[47:32];
        }
    };
    RegisterAction<bit<16>, bit<1>, bit<16>>(slot_era) get_era = {
        void apply(inout bit<16> value, out bit<16> read) {
            read = value;
        }
    };

    apply {
        if (duty == CoreDuty.START) {
            put_slot.execute(0);
            put_start.execute(0);
            put_era.execute(0);
        } else if (duty == CoreDuty.PASS) {
            slot = get_slot.execute(0);
            start = get_start.execute(0);
            era = get_era.execute(0);
        }
    }
}

#endif
