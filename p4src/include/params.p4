// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_PARAMS_P4
#define SLOTWISE_PARAMS_P4
#include "edge_parser.p4"

// What an edge knows about itself; one default action that the controller sets.
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
        actions = {
            set_edge_params;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    apply {
        edge_params.apply();
    }
}

#endif
