// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_ACCESS_P4
#define SLOTWISE_ACCESS_P4
#include "edge_parser.p4"

// Frames from hosts. Hosts share one subnet, so the edge answers every ARP request with its own address
// and gets all they send; IPv4 is routed, anything else has no business here.
control Access(inout edge_headers_t hdr,
               inout edge_metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    bit<32> requested_ip;

    apply {
        if (hdr.optical.isValid() || hdr.linecard.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (hdr.arp.isValid()) {
            // A host that probes or announces its own address must hear nothing: it would see a conflict.
            if (hdr.arp.opcode != ARP_REQUEST || hdr.arp.sender_ip == 0 || hdr.arp.sender_ip == hdr.arp.target_ip) {
                meta.drop_reason = DropReason.NO_ROUTE;
            } else {
                requested_ip = hdr.arp.target_ip;
                hdr.arp.opcode = ARP_REPLY;
                hdr.arp.target_mac = hdr.arp.sender_mac;
                hdr.arp.target_ip = hdr.arp.sender_ip;
                hdr.arp.sender_mac = meta.mac;
                hdr.arp.sender_ip = requested_ip;
                hdr.ethernet.dst = hdr.ethernet.src;
                hdr.ethernet.src = meta.mac;
                standard_metadata.egress_spec = standard_metadata.ingress_port;
            }
        } else if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5) {
            meta.drop_reason = DropReason.NO_ROUTE;
        } else if (hdr.ipv4.ttl <= 1) {
            meta.drop_reason = DropReason.TTL_EXPIRED;
        } else {
            // RFC 1141: one less in the high byte of a 16-bit word is 0x0100 more in the one's complement sum.
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            if (hdr.ipv4.checksum >= 0xfeff) {
                hdr.ipv4.checksum = hdr.ipv4.checksum + 0x0101;
            } else {
                hdr.ipv4.checksum = hdr.ipv4.checksum + 0x0100;
            }
            meta.routable = true;
        }
    }
}

#endif
