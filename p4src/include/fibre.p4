// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_FIBRE_P4
#define SLOTWISE_FIBRE_P4
#include "edge_parser.p4"
#include "schedule.p4"
#include "version.p4"

// Light that ends at this edge: payload for a host, a request for the controller (at the master), or
// the master's beacon (at a slave).
control Fibre(inout edge_headers_t hdr,
              inout edge_metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    LearnVersion() learn;

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
        } else if (hdr.request.isValid()) {
            if (meta.is_master == 0) {
                meta.drop_reason = DropReason.UNEXPECTED_PORT;
            } else {
                hdr.packet_in.setValid();
                hdr.packet_in.ingress_port = standard_metadata.ingress_port;
                hdr.packet_in._pad = 0;
                standard_metadata.egress_spec = PORT_CPU;
            }
        } else if (hdr.commit.isValid()) {
            if (meta.is_master == 1 || hdr.optical.src_edge != meta.master) {
                meta.drop_reason = DropReason.BAD_COMMIT;
            } else {
                learn.apply(hdr.commit, meta.drop_reason);
                if (meta.drop_reason == DropReason.NONE) {
                    stale_frame.write(0, hdr.commit.frame + meta.beacon_hold_frames + 1);
                }
            }
        } else {
            meta.drop_reason = DropReason.BAD_VERSION;
        }
    }
}

#endif
