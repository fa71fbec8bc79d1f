// SPDX-License-Identifier: Apache-2.0
// IP router with XCP on the ports that have a controller.
//
//   line card ──> interval ticks ──> XCP ──────────────────────────> flow control
//   controller ──> packet-out ─────────────────────────────────────> any port
//   ports ──> ARP, TTL ──> routing ──> XCP ────────────────────────> port
#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/router_parser.p4"
#include "include/router_control.p4"
#include "include/router_xcp.p4"
#include "include/access.p4"
#include "include/packet_out.p4"
#include "include/drops.p4"

// The instances that hold tables and counters are named so that P4Info says RouterIngress.<table>.
control RouterIngress(inout router_headers_t hdr,
                      inout router_metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    @name(".RouterIngress") RouterParams() params;
    PacketOut() send;
    Access() access;
    @name(".RouterIngress") RouterForwarding() forwarding;
    @name(".RouterIngress") RouterXcp() router_xcp;
    @name(".RouterIngress") DropAccounting() drop_accounting;

    apply {
        mark_to_drop(standard_metadata);  // unless something below sends it
        params.apply(meta);

        if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DropReason.TRUNCATED;
        } else if (standard_metadata.ingress_port < PORT_OPTICAL_BASE && standard_metadata.ingress_port != PORT_SELF) {
            if (IS_FORWARDABLE(hdr.ipv4)) {
                forwarding.apply(hdr, meta, standard_metadata);
            } else if (hdr.linecard.isValid()) {
                meta.drop_reason = DropReason.UNEXPECTED_PORT;
            } else {
                access.apply(hdr.ethernet, hdr.arp, hdr.ipv4, meta.mac, standard_metadata, meta.drop_reason);
            }
        } else if (standard_metadata.ingress_port == PORT_CPU) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        } else if (standard_metadata.ingress_port != PORT_LINECARD || !hdr.linecard.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.queue_report.isValid()) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (hdr.interval_tick.isValid()) {
            if (hdr.queue_report.queue > SIGNALING_QUEUE) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else {
                meta.xcp = true;
                meta.output = (index_t)hdr.queue_report.queue;
            }
        }

        if (meta.xcp) {
            router_xcp.apply(hdr, meta, standard_metadata);
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control RouterEgress(inout router_headers_t hdr,
                     inout router_metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply { }
}

// A wrong IPv4 checksum stays wrong on its way through, so the receiver sees it.
control RouterVerifyChecksum(inout router_headers_t hdr, inout router_metadata_t meta) {
    apply { }
}

control RouterComputeChecksum(inout router_headers_t hdr, inout router_metadata_t meta) {
    apply { }
}

V1Switch(RouterParser(),
         RouterVerifyChecksum(),
         RouterIngress(),
         RouterEgress(),
         RouterComputeChecksum(),
         RouterDeparser()) main;
