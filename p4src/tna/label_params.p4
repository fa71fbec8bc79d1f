// SPDX-License-Identifier: Apache-2.0
// Stands for include/params.p4, of edges of optical packet switches.
#ifndef SLOTWISE_PARAMS_P4
#define SLOTWISE_PARAMS_P4
#include "target.p4"
#include "../include/edge_parser.p4"

#define OF_OUTPUT(k) \
    (From.LINECARD, true, (bit<16>)PORT_OPTICAL_BASE + k, _): is(k, PORT_OPTICAL_BASE + k); \
    (From.FIBRE, _, _, PORT_OPTICAL_BASE + k): is(k, PORT_OPTICAL_BASE + k);

// Which output a packet is about: that of the fibre, or of the line card, that it came by.
control Star(in edge_headers_t hdr, in standard_metadata_t standard_metadata, inout edge_metadata_t meta) {
    @hidden action is(core_t core, port_t port) {
        meta.core = core;
        meta.egress_port = port;
    }

    @hidden action is_none() {
        meta.core = NO_CORE;
        meta.egress_port = 0;
    }

    @hidden table star {
        key = {
            meta.from:                      ternary;
            hdr.linecard.isValid():         ternary;
            hdr.linecard.port:              ternary;
            standard_metadata.ingress_port: ternary;
        }
        actions = {
            is;
            is_none;
        }
        const default_action = is_none();
        const entries = {
            OF_OUTPUT(0) OF_OUTPUT(1) OF_OUTPUT(2) OF_OUTPUT(3) OF_OUTPUT(4) OF_OUTPUT(5) OF_OUTPUT(6) OF_OUTPUT(7)
        }
    }

    apply {
        star.apply();
    }
}

// What an edge knows about itself.
control EdgeParams(inout edge_metadata_t meta) {
    bit<8> shift = 0xff;

    // The default action, which the controller sets.
    action set_label_params(edge_t edge_id, mac_t mac, bit<16> framing_bytes, bit<8> deflections, bit<8> hops) {
        meta.edge_id = edge_id;
        meta.mac = mac;
        meta.labels = 1;
        meta.framing_bytes = framing_bytes;
        meta.deflections = deflections;
        meta.hops = hops;
    }

    table edge_params {
        key = {
            meta.core: exact @name("core");
        }
        actions = {
            set_label_params;
            NoAction;
        }
        default_action = NoAction();
        size = MAX_CORES;
    }

    // Wavelengths for data of each of its fibres; fibre f has ports PORT_OPTICAL_BASE + (f << fibre_shift) on, and behind
    // those for data the one for probes. Without it there is one fibre, and no probes.
    action set_fibres(bit<8> wavelengths, bit<8> fibre_shift) {
        meta.wavelengths = wavelengths;
        shift = fibre_shift;
    }

    action one_fibre() { }

    table fibre_params {
        actions = {
            set_fibres;
            one_fibre;
        }
        default_action = one_fibre();
        size = 1;
    }

    @hidden action masks(bit<8> mask) {
        meta.wavelength_mask = mask;
    }

    // Nothing shifts by a variable.
    @hidden table mask_of_shift {
        key = {
            shift: exact;
        }
        actions = {
            masks;
        }
        const default_action = masks(0xff);
        const entries = {
            0: masks(0);
            1: masks(0x1);
            2: masks(0x3);
            3: masks(0x7);
            4: masks(0xf);
            5: masks(0x1f);
            6: masks(0x3f);
            7: masks(0x7f);
        }
    }

    // `trains` may wait for an output. Without it they are not counted. Classes are not weighed: `fair` is 0.
    action set_ingress(bit<8> trains, bit<1> fair) {
        meta.counts_trains = 1;
        meta.trains = trains;
    }

    table ingress_params {
        actions = {
            set_ingress;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    apply {
        edge_params.apply();
        fibre_params.apply();
        mask_of_shift.apply();
        ingress_params.apply();
    }
}

#endif
