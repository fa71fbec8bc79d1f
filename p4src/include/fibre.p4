// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_FIBRE_P4
#define SLOTWISE_FIBRE_P4
#include "edge_parser.p4"
#include "beacon.p4"
#include "measure.p4"
#include "membership.p4"

// Light that ends at this edge: payload for a host, requests and measurements for the controller (at the master), or
// the master's beacons and messages for members (at a slave).
control Fibre(inout edge_headers_t hdr,
              inout edge_metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    TakeBeacon() take_beacon;
    @name(".EdgeIngress") Members() members;
    Measure() measure;
    MemberMessage() member_message;
    CheckFrame() check_frame;

    bit<32> frame;

    apply {
        if (!hdr.optical.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (hdr.optical.version != OPTICAL_VERSION) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (hdr.optical.dst_edge != meta.edge_id) {
            meta.drop_reason = DropReason.MISDIRECTED;
        } else if (hdr.optical.kind == OpticalKind.DATA) {
            if (hdr.ipv4.isValid()) {
                meta.routable = true;
            } else {
                meta.drop_reason = DropReason.NO_ROUTE;
            }
        } else if (hdr.commit.isValid()) {
            if (meta.out_of_band == 1) {
                meta.drop_reason = DropReason.BAD_COMMIT;
            } else {
                take_beacon.apply(hdr, meta);
            }
        } else if (meta.is_master == 0 && (hdr.stamp.isValid() || hdr.configuration.isValid() || hdr.fault.isValid())) {
            member_message.apply(hdr, meta, standard_metadata, (bit<16>)standard_metadata.ingress_port);
        } else if (hdr.request.isValid() || hdr.stamp.isValid() || hdr.fault.isValid()) {
            if (meta.is_master == 0) {
                meta.drop_reason = DropReason.UNEXPECTED_PORT;
            } else if (meta.inviting == 1 && !hdr.invitation.isValid()) {
                members.apply(hdr, meta, standard_metadata);
                if (meta.drop_reason == DropReason.NONE && hdr.sync.isValid()) {
                    measure.apply(hdr, meta);
                } else if (hdr.fault.isValid() && hdr.fault.session != meta.session) {
                    meta.drop_reason = DropReason.NOT_A_MEMBER;
                }
            } else if (meta.inviting == 0 && !hdr.request.isValid()) {
                meta.drop_reason = DropReason.NOT_A_MEMBER;
            }
            if (meta.drop_reason == DropReason.NONE && hdr.request.isValid()) {
                current_frame.read(frame, meta.core);
                check_frame.apply(hdr.request.frame, frame, FRAME_WINDOW, meta.drop_reason);
            }
            if (meta.drop_reason == DropReason.NONE) {
                hdr.packet_in.setValid();
                hdr.packet_in.ingress_port = standard_metadata.ingress_port;
                hdr.packet_in._pad = 0;
                standard_metadata.egress_spec = PORT_CPU;
            }
        } else {
            meta.drop_reason = DropReason.BAD_VERSION;
        }
    }
}

#endif
