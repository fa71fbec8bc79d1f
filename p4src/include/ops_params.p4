// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_OPS_PARAMS_P4
#define SLOTWISE_OPS_PARAMS_P4
#include "ops_place.p4"

// What a switch knows about itself; one default action that the controller sets.
control OpsParams(in standard_metadata_t standard_metadata, inout ops_metadata_t meta) {
    // `wavelengths`: 1 to 2 to `fibre_shift`. If they are fewer, the port behind them is for probes; else there are none.
    action set_ops_params(bit<8> wavelengths,
                          bit<8> fibre_shift,
                          bit<1> converts,
                          bit<40> time_per_byte_q16,
                          bit<24> longest_bytes,
                          bit<16> framing_bytes,
                          clock_t guard,
                          clock_t ram) {
        meta.wavelengths = wavelengths;
        meta.fibre_shift = fibre_shift;
        meta.converts = converts;
        meta.time_per_byte_q16 = time_per_byte_q16;
        meta.longest_bytes = longest_bytes;
        meta.framing_bytes = framing_bytes;
        meta.guard = guard;
        meta.ram = ram;
    }

    table ops_params {
        actions = {
            set_ops_params;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    @name(".OpsIngress") OpsPlace() place;

    apply {
        ops_params.apply();
        place.apply(standard_metadata, meta);
    }
}

#endif
