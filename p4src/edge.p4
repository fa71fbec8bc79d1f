// SPDX-License-Identifier: Apache-2.0
// Edge switch: hosts on access ports, line cards and their fibres on optical ports.
//
//   line card ──> schedule, signaling ──────────────────> flow control, requests, beacons, invitations, measurements
//             ──> alarms ───────────────────────────────> faults
//             ──> interval ticks ──> XCP ───────────────> flow control
//   controller ──> commit, packet-out ──────────────────> any port
//   fibre ──> requests, measurements to the controller; beacons, invitations, configurations ──> flow control
//         ──> data ─────────────────────────────────┐
//   access ports ──> ARP, TTL ──────────────────────┴──> routing ──> host, or XCP ──> VOQ of a line card
#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/edge_parser.p4"
#include "include/params.p4"
#include "include/membership.p4"
#include "include/linecard.p4"
#include "include/edge_control.p4"
#include "include/fibre.p4"
#include "include/access.p4"
#include "include/routing.p4"
#include "include/edge_xcp.p4"
#include "include/drops.p4"

// The instances that hold tables and counters are named so that P4Info says EdgeIngress.<table>.
control EdgeIngress(inout edge_headers_t hdr,
                    inout edge_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    Star() star;
    @name(".EdgeIngress") EdgeParams() params;
    @name(".EdgeIngress") MembershipParams() membership_params;
    LineCard() line_card;
    EdgeControl() edge_control;
    Fibre() fibre;
    Access() access;
    @name(".EdgeIngress") Routing() routing;
    @name(".EdgeIngress") EdgeXcp() edge_xcp;
    Seal() seal;
    @name(".EdgeIngress") DropAccounting() drop_accounting;

    apply {
        mark_to_drop(standard_metadata);  // unless something below sends it
        star.apply(hdr, standard_metadata, meta);
        params.apply(meta);
        // Data has no part in who is a member.
        if (standard_metadata.ingress_port >= PORT_OPTICAL_BASE && !hdr.ipv4.isValid()) {
            membership_params.apply(meta);
        }

        if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DropReason.TRUNCATED;
        } else if (standard_metadata.ingress_port == PORT_LINECARD) {
            line_card.apply(hdr, meta, standard_metadata);
        } else if (standard_metadata.ingress_port == PORT_CPU) {
            edge_control.apply(hdr, meta, standard_metadata);
        } else if (standard_metadata.ingress_port == PORT_SELF
                   || (standard_metadata.ingress_port >= PORT_OPTICAL_BASE && meta.core == NO_CORE)) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (standard_metadata.ingress_port >= PORT_OPTICAL_BASE) {
            fibre.apply(hdr, meta, standard_metadata);
        } else if (hdr.optical.isValid() || hdr.linecard.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else {
            access.apply(hdr.ethernet, hdr.arp, hdr.ipv4, meta.mac, standard_metadata, meta.drop_reason, meta.routable);
        }

        if (meta.routable) {
            routing.apply(hdr, meta, standard_metadata);
        }
        if (meta.xcp) {
            edge_xcp.apply(hdr, meta, standard_metadata);
        }
        if (hdr.packet_in.isValid()) {
            seal.apply(hdr);
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control EdgeEgress(inout edge_headers_t hdr,
                   inout edge_metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply { }
}

// A wrong IPv4 checksum stays wrong on its way through, so the receiver sees it.
control EdgeVerifyChecksum(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    apply { }
}

control EdgeComputeChecksum(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    apply { }
}

V1Switch(EdgeParser(),
         EdgeVerifyChecksum(),
         EdgeIngress(),
         EdgeEgress(),
         EdgeComputeChecksum(),
         EdgeDeparser()) main;
