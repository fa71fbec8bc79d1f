// SPDX-License-Identifier: Apache-2.0
// Stands for include/params.p4, of edges of stars.
#ifndef SLOTWISE_PARAMS_P4
#define SLOTWISE_PARAMS_P4
#include "edge_star.p4"
#include "../include/edge_parser.p4"

#define OF_STAR(k) \
    (From.LINECARD, true, (bit<16>)PORT_OPTICAL_BASE + k, _, _, _, _, _): is(k, k, k, PORT_OPTICAL_BASE + k); \
    (From.CONTROLLER, _, _, true, k, _, _, _): is(k, k, k, PORT_OPTICAL_BASE + k); \
    (From.FIBRE, _, _, _, _, PORT_OPTICAL_BASE + k, 0, _): is(k, k, k, PORT_OPTICAL_BASE + k); \
    (From.FIBRE, _, _, _, _, _, 1, k): is(k, k, k, PORT_OPTICAL_BASE + k); \
    (From.NOWHERE, _, _, _, _, _, 1, k): is(k, k, k, PORT_OPTICAL_BASE + k);

// Whose star a packet belongs to: that of the fibre, or of the line card, that it came by, or the one that the
// controller names. What comes again says it itself.
control Star(in edge_headers_t hdr,
             in standard_metadata_t standard_metadata,
             in bit<1> is_again,
             in bit<8> known_core,
             inout edge_metadata_t meta,
             inout star_of_t star_of) {
    @hidden action is(core_t core, star_t star, bit<8> number, port_t port) {
        meta.core = core;
        star_of.star = star;
        star_of.number = number;
        star_of.port = port;
    }

    @hidden action is_none() {
        meta.core = NO_CORE;
    }

    @hidden table star {
        key = {
            meta.from:                      ternary;
            hdr.linecard.isValid():         ternary;
            hdr.linecard.port:              ternary;
            hdr.optical.isValid():          ternary;
            hdr.optical.core:               ternary;
            standard_metadata.ingress_port: ternary;
            is_again:                       ternary;
            known_core:                     ternary;
        }
        actions = {
            is;
            is_none;
        }
        const default_action = is_none();
        const entries = {
            OF_STAR(0) OF_STAR(1) OF_STAR(2) OF_STAR(3) OF_STAR(4) OF_STAR(5) OF_STAR(6) OF_STAR(7)
        }
    }

    apply {
        star.apply();
    }
}

// What an edge knows about itself in each star. The default action, which the controller sets, is for all stars that
// have no entry. An action has 32 bytes of data: slots are shorter than 2^32 ns.
control EdgeParams(inout edge_metadata_t meta) {
    action set_edge_params(edge_t edge_id,
                           bit<1> is_master,
                           edge_t master,
                           mac_t mac,
                           time_ns_t guard_ns,
                           time_ns_t slot_ns,
                           bit<32> beacon_hold_frames) {
        meta.edge_id = edge_id;
        meta.is_master = is_master;
        meta.master = master;
        meta.mac = mac;
        meta.guard_ns[31:0] = guard_ns[31:0];
        meta.slot_ns[31:0] = slot_ns[31:0];
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

// Whether this edge joins a star by invitation, or invites; the default action, which the controller sets, is for all stars that have no entry.
control MembershipParams(inout edge_metadata_t meta) {
    // Margins are shorter than 2^32 ns.
    action by_invitation(port_t fault_port, time_ns_t margin_ns, bit<1> out_of_band) {
        meta.by_invitation = 1;
        meta.fault_port = fault_port;
        meta.margin_ns[31:0] = margin_ns[31:0];
        meta.out_of_band = out_of_band;
    }

    // `own_phase_ns`: the master's own T_d, its fibre's delay.
    action inviting(time_ns_t own_phase_ns) {
        meta.inviting = 1;
        meta.own_phase_ns = own_phase_ns;
    }

    // The edge is a member as it is, and hears of the schedule from the controller only.
    action out_of_band() {
        meta.out_of_band = 1;
    }

    table membership {
        key = {
            meta.core: exact @name("core");
        }
        actions = {
            by_invitation;
            inviting;
            out_of_band;
            NoAction;
        }
        default_action = NoAction();
        size = MAX_CORES;
    }

    apply {
        membership.apply();
    }
}

#endif
