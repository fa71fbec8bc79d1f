// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_OPS_PLACE_P4
#define SLOTWISE_OPS_PLACE_P4
#include "ops_parser.p4"

// A port of a fibre's wavelength, and whether there is such a port.
#define WAVELENGTH_PORT(fibre, wavelength) \
    ((index_t)PORT_OPTICAL_BASE + ((index_t)(fibre) << meta.fibre_shift) + (index_t)(wavelength))
#define IS_OPTICAL_PORT(port) ((port) >= (index_t)PORT_OPTICAL_BASE && (port) < (index_t)(PORT_OPTICAL_BASE + MAX_FIBRES))

// By which fibre a packet comes, and on which of its wavelengths.
control OpsPlace(in standard_metadata_t standard_metadata, inout ops_metadata_t meta) {
    index_t place;

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
        find_place();
    }
}

#endif
