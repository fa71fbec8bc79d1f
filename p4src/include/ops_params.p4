// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_OPS_PARAMS_P4
#define SLOTWISE_OPS_PARAMS_P4
#include "ops_parser.p4"

// A port of a fibre's wavelength, and whether there is such a port.
#define WAVELENGTH_PORT(fibre, wavelength) \
    ((index_t)PORT_OPTICAL_BASE + ((index_t)(fibre) << meta.fibre_shift) + (index_t)(wavelength))
#define IS_OPTICAL_PORT(port) ((port) >= (index_t)PORT_OPTICAL_BASE && (port) < (index_t)(PORT_OPTICAL_BASE + MAX_FIBRES))

// What a switch knows about itself; one default action that the controller sets.
control OpsParams(in standard_metadata_t standard_metadata, inout ops_metadata_t meta) {
    index_t place;

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

    @hidden action find_place() {
        if (standard_metadata.ingress_port == PORT_CPU) {
            meta.from = From.CONTROLLER_OUT;
        } else if (standard_metadata.ingress_port == PORT_LINECARD) {
            meta.from = From.LINECARD;
        } else if (meta.wavelengths != 0 && IS_OPTICAL_PORT((index_t)standard_metadata.ingress_port)) {
            place = (index_t)(standard_metadata.ingress_port - PORT_OPTICAL_BASE);
            meta.fibre = (bit<8>)(place >> meta.fibre_shift);
            meta.wavelength = (bit<8>)(place - ((index_t)meta.fibre << meta.fibre_shift));
            if (meta.wavelength < meta.wavelengths) {
                meta.from = From.DATA;
            } else if (meta.wavelength == meta.wavelengths) {
                meta.from = From.PROBES;
            }
        }
        meta.bytes = standard_metadata.packet_length |-| (bit<32>)meta.framing_bytes;
    }

    apply {
        ops_params.apply();
        find_place();
    }
}

#endif
