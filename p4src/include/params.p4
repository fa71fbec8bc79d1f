// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_PARAMS_P4
#define SLOTWISE_PARAMS_P4
#include "edge_parser.p4"

// Whose star a packet belongs to: that of the fibre, or of the line card, that it came by, or the one that the
// controller names.
control Star(in edge_headers_t hdr, in standard_metadata_t standard_metadata, inout edge_metadata_t meta) {
    apply {
        meta.core = NO_CORE;
        if (standard_metadata.ingress_port == PORT_LINECARD && hdr.linecard.isValid()) {
            meta.core = (bit<32>)hdr.linecard.port - (bit<32>)PORT_OPTICAL_BASE;
        } else if (standard_metadata.ingress_port == PORT_CPU && hdr.optical.isValid()) {
            meta.core = (bit<32>)hdr.optical.core;
        } else if (standard_metadata.ingress_port >= PORT_OPTICAL_BASE) {
            meta.core = (bit<32>)standard_metadata.ingress_port - (bit<32>)PORT_OPTICAL_BASE;
        }
        if (meta.core >= MAX_CORES) {
            meta.core = NO_CORE;
        }
    }
}

// What an edge knows about itself in each star. The default action, which the controller sets, is for all stars that
// have no entry.
control EdgeParams(inout edge_metadata_t meta) {
    action set_edge_params(bit<16> edge_id,
                           bit<1> is_master,
                           bit<16> master,
                           bit<48> mac,
                           bit<64> guard_ns,
                           bit<64> slot_ns,
                           bit<32> beacon_hold_frames) {
        meta.edge_id = edge_id;
        meta.is_master = is_master;
        meta.master = master;
        meta.mac = mac;
        meta.guard_ns = guard_ns;
        meta.slot_ns = slot_ns;
        meta.beacon_hold_frames = beacon_hold_frames;
    }

    table edge_params {
        key = {
            meta.core: exact @name("core");
        }
        actions = {
            set_edge_params;
            NoAction;
        }
        default_action = NoAction();
        size = MAX_CORES;
    }

    apply {
        edge_params.apply();
    }
}

#endif
