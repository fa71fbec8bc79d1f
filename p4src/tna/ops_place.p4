// SPDX-License-Identifier: Apache-2.0
// Stands for include/ops_place.p4. Nothing shifts by a variable, and what is cut from a port would have to stand where it was: two tables
// say what comes of it. Whoever sets `fibre_shift` fills both.
#ifndef SLOTWISE_OPS_PLACE_P4
#define SLOTWISE_OPS_PLACE_P4
#include "target.p4"
#include "../include/ops_parser.p4"

// P4Testgen shifts by a variable, so its tests have no entries that v1model has no tables for.
#ifdef P4TESTGEN
#define FIND_FIBRE() split()
#define FIND_PORT() shift()
#else
#define FIND_FIBRE() fibre_of_port.apply()
#define FIND_PORT() port_of_fibre.apply()
#endif

#define IS_OPTICAL_PORT(port) ((port) >= PORT_OPTICAL_BASE && (port) < PORT_OPTICAL_BASE + MAX_FIBRES)
// The same of a number of 16 bits; PORT_OPTICAL_BASE is 0x100.
#define IS_WAVELENGTH(port) ((port)[15:8] == 1 && (port)[7:0] < (bit<8>)MAX_FIBRES)

// By which fibre a packet comes, and on which of its wavelengths.
control OpsPlace(in standard_metadata_t standard_metadata, inout ops_metadata_t meta) {
    bit<8> beyond = 0;  // the wavelengths for data, two's complement

    // `fibre`: the port less PORT_OPTICAL_BASE, shifted by `fibre_shift`; `wavelength`: the rest of it.
    action split_to(bit<8> fibre, bit<8> wavelength) {
        meta.fibre = fibre;
        meta.wavelength = wavelength;
    }

#ifdef P4TESTGEN
    @hidden action split() {
        index_t place = (index_t)(standard_metadata.ingress_port - PORT_OPTICAL_BASE);
        meta.fibre = (bit<8>)(place >> (index_t)meta.fibre_shift);
        meta.wavelength = (bit<8>)(place - ((index_t)meta.fibre << (index_t)meta.fibre_shift));
    }
#endif

    table fibre_of_port {
        key = {
            standard_metadata.ingress_port: exact @name("port");
        }
        actions = {
            split_to;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = 256;
    }

    @hidden action compare() {
        beyond = meta.wavelength - meta.wavelengths;
    }

    apply {
        if (standard_metadata.ingress_port == PORT_CPU) {
            meta.from = From.CONTROLLER_OUT;
        } else if (standard_metadata.ingress_port == PORT_LINECARD) {
            meta.from = From.LINECARD;
        } else if (meta.wavelengths != 0 && IS_OPTICAL_PORT(standard_metadata.ingress_port)) {
            FIND_FIBRE();
            compare();
            if (beyond == 0) {
                meta.from = From.PROBES;
            } else if (beyond[7:7] == 1) {
                meta.from = From.DATA;
            }
        }
    }
}

// The port of a fibre's wavelength; 0 if there is none.
control WavelengthPort(in bit<8> fibre, in bit<8> wavelength, in ops_metadata_t meta, inout bit<16> port) {
    bit<16> beyond_first = 0;

    // A container of 8 bits is not moved into one of 16.
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) wide;

    @hidden action widen() {
        beyond_first = wide.get({ wavelength });
    }

    // `first`: the fibre shifted by `fibre_shift`, and PORT_OPTICAL_BASE.
    action begin_at(bit<16> first) {
        port = beyond_first + first;
    }

    action no_port() {
        port = 0;
    }

#ifdef P4TESTGEN
    @hidden action shift() {
        index_t there = (index_t)PORT_OPTICAL_BASE + ((index_t)fibre << (index_t)meta.fibre_shift) + (index_t)wavelength;
        port = there[31:16] == 0 ? there[15:0] : 0;
    }
#endif

    table port_of_fibre {
        key = {
            fibre: exact @name("fibre");
        }
        actions = {
            begin_at;
            @defaultonly no_port;
        }
        const default_action = no_port();
        size = 256;
    }

    apply {
        widen();
        FIND_PORT();
    }
}

#endif
