// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_ACCESS_P4
#define SLOTWISE_ACCESS_P4
#include "headers.p4"

// Frames from hosts and neighbouring routers. Hosts share one subnet, so the switch answers every ARP request
// with its own address and gets all they send; IPv4 is routed, anything else has no business here.
control Access(inout ethernet_t ethernet,
               inout arp_ipv4_t arp,
               inout ipv4_t ipv4,
               in bit<48> mac,
               inout standard_metadata_t standard_metadata,
               inout DropReason drop_reason,
               inout bool routable) {
    bit<32> requested_ip;

    apply {
        if (arp.isValid()) {
            // A host that probes or announces its own address must hear nothing: it would see a conflict.
            if (arp.opcode != ARP_REQUEST || arp.sender_ip == 0 || arp.sender_ip == arp.target_ip) {
                drop_reason = DropReason.NO_ROUTE;
            } else {
                requested_ip = arp.target_ip;
                arp.opcode = ARP_REPLY;
                arp.target_mac = arp.sender_mac;
                arp.target_ip = arp.sender_ip;
                arp.sender_mac = mac;
                arp.sender_ip = requested_ip;
                ethernet.dst = ethernet.src;
                ethernet.src = mac;
                standard_metadata.egress_spec = standard_metadata.ingress_port;
            }
        } else if (!ipv4.isValid() || ipv4.version != 4 || ipv4.ihl < 5) {
            drop_reason = DropReason.NO_ROUTE;
        } else if (ipv4.ttl <= 1) {
            drop_reason = DropReason.TTL_EXPIRED;
        } else {
            // RFC 1141: one less in the high byte of a 16-bit word is 0x0100 more in the one's complement sum.
            ipv4.ttl = ipv4.ttl - 1;
            if (ipv4.checksum >= 0xfeff) {
                ipv4.checksum = ipv4.checksum + 0x0101;
            } else {
                ipv4.checksum = ipv4.checksum + 0x0100;
            }
            routable = true;
        }
    }
}

#endif
