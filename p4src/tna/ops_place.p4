// SPDX-License-Identifier: Apache-2.0
// Stands for include/ops_place.p4. Nothing shifts by a variable: a table chooses among the eight shifts that there may be.
#ifndef SLOTWISE_OPS_PLACE_P4
#define SLOTWISE_OPS_PLACE_P4
#include "target.p4"
#include "../include/ops_parser.p4"

#define IS_OPTICAL_PORT(port) ((port) >= PORT_OPTICAL_BASE && (port) < PORT_OPTICAL_BASE + MAX_FIBRES)
// The same of a number of 16 bits; PORT_OPTICAL_BASE is 0x100.
#define IS_WAVELENGTH(port) ((port)[15:8] == 1 && (port)[7:0] < (bit<8>)MAX_FIBRES)

// By which fibre a packet comes, and on which of its wavelengths.
control OpsPlace(in standard_metadata_t standard_metadata, inout ops_metadata_t meta) {
    bit<8> beyond = 0;  // the wavelengths for data, two's complement

    @hidden action split_0() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:0];
        meta.wavelength = 0;
    }

    @hidden action split_1() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:1];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[0:0];
    }

    @hidden action split_2() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:2];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[1:0];
    }

    @hidden action split_3() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:3];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[2:0];
    }

    @hidden action split_4() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:4];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[3:0];
    }

    @hidden action split_5() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:5];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[4:0];
    }

    @hidden action split_6() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:6];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[5:0];
    }

    @hidden action split_7() {
        meta.fibre = (bit<8>)standard_metadata.ingress_port[7:7];
        meta.wavelength = (bit<8>)standard_metadata.ingress_port[6:0];
    }

    @hidden table split {
        key = {
            meta.fibre_shift: exact;
        }
        actions = {
            split_0;
            split_1;
            split_2;
            split_3;
            split_4;
            split_5;
            split_6;
            split_7;
        }
        const default_action = split_0();
        const entries = {
            1: split_1();
            2: split_2();
            3: split_3();
            4: split_4();
            5: split_5();
            6: split_6();
            7: split_7();
        }
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
            split.apply();
            compare();
            if (beyond == 0) {
                meta.from = From.PROBES;
            } else if (beyond[7:7] == 1) {
                meta.from = From.DATA;
            }
        }
    }
}

// The port of a fibre's wavelength.
control WavelengthPort(in bit<8> fibre_shift, in bit<8> fibre, in bit<8> wavelength, inout bit<16> port) {
    bit<16> high = 0;
    bit<16> low = 0;

    @hidden action begin() {
        low = (bit<16>)wavelength + (bit<16>)PORT_OPTICAL_BASE;
    }

    @hidden action lift_0() {
        high = (bit<16>)fibre;
    }

    @hidden action lift_1() {
        high = (bit<16>)fibre << 1;
    }

    @hidden action lift_2() {
        high = (bit<16>)fibre << 2;
    }

    @hidden action lift_3() {
        high = (bit<16>)fibre << 3;
    }

    @hidden action lift_4() {
        high = (bit<16>)fibre << 4;
    }

    @hidden action lift_5() {
        high = (bit<16>)fibre << 5;
    }

    @hidden action lift_6() {
        high = (bit<16>)fibre << 6;
    }

    @hidden action lift_7() {
        high = (bit<16>)fibre << 7;
    }

    @hidden table lift {
        key = {
            fibre_shift: exact;
        }
        actions = {
            lift_0;
            lift_1;
            lift_2;
            lift_3;
            lift_4;
            lift_5;
            lift_6;
            lift_7;
        }
        const default_action = lift_0();
        const entries = {
            1: lift_1();
            2: lift_2();
            3: lift_3();
            4: lift_4();
            5: lift_5();
            6: lift_6();
            7: lift_7();
        }
    }

    @hidden action add() {
        port = high + low;
    }

    apply {
        begin();
        lift.apply();
        add();
    }
}

#endif
