// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_PARAMS_P4
#define SLOTWISE_PARAMS_P4
#include "edge_parser.p4"

// Whose star a packet belongs to: that of the fibre, or of the line card, that it came by, or the one that the
// controller names.
control Star(in edge_headers_t hdr, in standard_metadata_t standard_metadata, inout edge_metadata_t meta) {
    @hidden action of_line_card() {
        meta.core = (core_t)hdr.linecard.port - (core_t)PORT_OPTICAL_BASE;
    }

    @hidden action of_controller() {
        meta.core = (core_t)hdr.optical.core;
    }

    @hidden action of_port() {
        meta.core = (core_t)standard_metadata.ingress_port - (core_t)PORT_OPTICAL_BASE;
    }

    @hidden action of_none() {
        meta.core = NO_CORE;
    }

    apply {
        if (meta.from == From.LINECARD && hdr.linecard.isValid()) {
            of_line_card();
        } else if (meta.from == From.CONTROLLER && hdr.optical.isValid()) {
            of_controller();
        } else if (meta.from == From.FIBRE) {
            of_port();
        }
        if (meta.core >= MAX_CORES) {
            of_none();
        }
    }
}

// What an edge knows about itself in each star. The default action, which the controller sets, is for all stars that
// have no entry.
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
        meta.guard_ns = guard_ns;
        meta.slot_ns = slot_ns;
        meta.beacon_hold_frames = beacon_hold_frames;
    }

    // Of an edge of optical packet switches, which is in no star: the default action.
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
            set_edge_params;
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
        meta.wavelength_mask = (8w1 << fibre_shift) - 1;
    }

    action one_fibre() {
        meta.wavelength_mask = 0xff;
    }

    table fibre_params {
        actions = {
            set_fibres;
            one_fibre;
        }
        default_action = one_fibre();
        size = 1;
    }

    // `trains` may wait for an output, or of each class if it is `fair`. Without it they are not counted.
    action set_ingress(bit<8> trains, bit<1> fair) {
        meta.counts_trains = 1;
        meta.trains = trains;
        meta.fair = fair;
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
        if (meta.labels == 1) {
            fibre_params.apply();
            ingress_params.apply();
        }
    }
}

// Whether this edge joins a star by invitation, or invites; the default action, which the controller sets, is for all
// stars that have no entry. Without it the edge is a member as it is: its line card knows T_d.
control MembershipParams(inout edge_metadata_t meta) {
    // `fault_port`: where faults go, PORT_CPU or a fibre. `margin_ns`: by how much the gates open late and shut early,
    // since T_d is not known to the nanosecond. `out_of_band`: the controller tells the schedule, as below.
    action by_invitation(port_t fault_port, time_ns_t margin_ns, bit<1> out_of_band) {
        meta.by_invitation = 1;
        meta.fault_port = fault_port;
        meta.margin_ns = margin_ns;
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
