// SPDX-License-Identifier: Apache-2.0
// For P4Testgen, whose tests are of one pipe and know nothing that comes again: what side_pipe.p4 does with a packet, where it is sent there.
#ifndef SLOTWISE_TNA_SIDE_INLINE_P4
#define SLOTWISE_TNA_SIDE_INLINE_P4
#include "edge_egress.p4"
#include "ports.p4"
#include "side.p4"

control SideInline(inout aside_t aside,
                   inout star_state_t state,
                   inout carried_t carried,
                   inout edge_headers_t hdr,
                   inout DropReason drop_reason,
                   inout standard_metadata_t standard_metadata,
                   inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Side() side;

    side_metadata_t meta;
    again_t         order;

    apply {
        meta.is_again = 0;
        meta.said = { 0, 0 };
        meta.taken.duty = 0;
        meta.taken.state = 0;
        meta.port = PORT_DROP;
        meta.comes_again = 0;
        meta.is_made = 0;
        meta.span = 0;
        meta.drop_reason = DropReason.NONE;
        if (aside.way == (bit<8>)SideWay.TICK) {
            meta.said.frame = hdr.slot_tick.frame;
        } else if (hdr.invitation.isValid()) {
            meta.said.session = hdr.invitation.nonce;
        } else if (hdr.configuration.isValid()) {
            meta.said.session = hdr.configuration.session;
        } else if (hdr.sync.isValid()) {
            meta.said = { hdr.sync.session, hdr.sync.frame };
        } else if (hdr.fault.isValid()) {
            meta.said = { hdr.fault.session, hdr.fault.frame };
        } else if (hdr.request.isValid()) {
            meta.said.frame = hdr.request.frame;
        }
        side.apply(aside, state, hdr, order, meta);
        if (meta.comes_again == 1) {
            meta.is_again = 1;
            meta.taken = meta.next;
            meta.comes_again = 0;
            side.apply(aside, state, hdr, order, meta);
        }
        if (hdr.request.isValid() && meta.is_made == 1) {
            carried.setValid();
            carried.way = (bit<8>)EgressWay.REQUEST;
            if (meta.port == PORT_CPU) {
                carried.way = (bit<8>)EgressWay.TELL;
            }
            for_tm.bypass_egress = 0;
        }
        aside.setInvalid();
        state.setInvalid();
        hdr.slot_tick.setInvalid();
        if (meta.port != PORT_CPU) {
            hdr.packet_in.setInvalid();
        }
        drop_reason = meta.drop_reason;
        standard_metadata.egress_spec = meta.port;
        if (meta.drop_reason != DropReason.NONE) {
            standard_metadata.egress_spec = PORT_DROP;
        } else if (meta.port == PORT_LOOP) {
            standard_metadata.egress_spec = PORT_LINECARD;
        }
    }
}

#endif
