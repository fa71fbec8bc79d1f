// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_FIBRE_P4
#define SLOTWISE_FIBRE_P4
#include "edge_parser.p4"
#include "measure.p4"
#include "membership.p4"
#include "schedule.p4"
#include "version.p4"

// Whether a beacon may be believed. An edge that has joined knows the frame, so it refuses old and future ones.
control CheckBeacon(in edge_headers_t hdr, inout edge_metadata_t meta) {
    bit<32> frame;
    bit<32> heard_frame;

    apply {
        current_frame.read(frame, 0);
        known_frame.read(heard_frame, 0);
        if (meta.is_master == 1 || hdr.optical.src_edge != meta.master) {
            meta.drop_reason = DropReason.BAD_COMMIT;
        } else if (meta.by_invitation == 1) {
            if (meta.session == 0) {
                meta.drop_reason = DropReason.NOT_A_MEMBER;
            } else if ((int<32>)(hdr.commit.frame - heard_frame) < 0) {
                meta.drop_reason = DropReason.STALE;
            } else if ((int<32>)(hdr.commit.frame - frame) > 0) {
                meta.drop_reason = DropReason.BAD_FIELD;
            }
        }
    }
}

// Light that ends at this edge: payload for a host, requests and measurements for the controller (at the master), or
// the master's beacons and messages for members (at a slave).
control Fibre(inout edge_headers_t hdr,
              inout edge_metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    LearnVersion() learn;
    CheckBeacon() check_beacon;
    @name(".EdgeIngress") Members() members;
    Measure() measure;
    MemberMessage() member_message;

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
            check_beacon.apply(hdr, meta);
            if (meta.drop_reason == DropReason.NONE) {
                learn.apply(hdr.commit, meta.drop_reason);
            }
            if (meta.drop_reason == DropReason.NONE) {
                stale_frame.write(0, hdr.commit.frame + meta.beacon_hold_frames + 1);
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
