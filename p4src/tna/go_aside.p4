// SPDX-License-Identifier: Apache-2.0
// A packet leaves for the pipe beside this one (side_pipe.p4).
#ifndef SLOTWISE_TNA_GO_ASIDE_P4
#define SLOTWISE_TNA_GO_ASIDE_P4
#include "aside.p4"
#include "edge_star.p4"
#include "ports.p4"
#include "../include/edge_parser.p4"

control GoAside(in SideWay way,
                in star_of_t star_of,
                in bit<1> fresh,
                in edge_metadata_t meta,
                inout aside_t aside,
                inout star_state_t state,
                inout edge_headers_t hdr,
                inout standard_metadata_t standard_metadata) {
    // Hashes that change nothing: a copy may lie anywhere then.
    Hash<bit<8>>(HashAlgorithm_t.IDENTITY)  flags;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) slot_time;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) guard_time;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) fault_port;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) fibre_port;

    COPY(say_exit, port_t, hdr.packet_in.ingress_port, meta.egress_port)
    COPY(say_input, port_t, hdr.packet_in.ingress_port, standard_metadata.ingress_port)

    @hidden action go_for_xcp() {
        aside.setValid();
        aside.way = (bit<8>)SideWay.XCP;
        aside.queue = meta.queue;
        hdr.packet_in.setValid();
        hdr.packet_in._pad = 0;
        standard_metadata.egress_spec = PORT_SIDE;
    }

    @hidden action go() {
        aside.setValid();
        aside.way = (bit<8>)way;
        aside.queue = 0;
        hdr.packet_in.setValid();
        hdr.packet_in._pad = 0;
        standard_metadata.egress_spec = PORT_SIDE;
    }

    @hidden action tell_state() {
        state.setValid();
        state.duty = (bit<8>)meta.duty;
        state.core = meta.core;
        state.star = star_of.star;
        state.number = star_of.number;
        state.is = flags.get({ 4w0, fresh, meta.by_invitation, meta.inviting, meta.is_master });
        state.edge_id = meta.edge_id;
        state.master = meta.master;
        state.mac = meta.mac;
        state.own_phase_ns = meta.own_phase_ns;
        state.now = meta.versions.now;
        state.active_version = meta.versions.active;
        state.next_version = meta.versions.next;
        state.next_frame = meta.versions.next_frame;
    }

    @hidden action tell_slot() {
        state.slot_ns = slot_time.get({ meta.slot_ns[31:0] });
    }

    @hidden action tell_guard() {
        state.guard_ns = guard_time.get({ meta.guard_ns[31:0] });
    }

    @hidden action tell_ports() {
        state.fault_port = fault_port.get({ 7w0, meta.fault_port });
        state.fibre_port = fibre_port.get({ 7w0, star_of.port });
    }

    // An answer tick asks for nothing but to answer.
    @hidden action forget_tick() {
        hdr.slot_tick.setInvalid();
    }

    apply {
        if (way == SideWay.XCP) {
            say_exit();
            go_for_xcp();
        } else if (way != SideWay.NONE) {
            say_input();
            go();
            tell_state();
            tell_slot();
            tell_guard();
            tell_ports();
            if (way == SideWay.CARD) {
                forget_tick();
            }
        }
    }
}

#endif
