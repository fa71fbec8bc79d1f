// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_ACCESS_P4
#define SLOTWISE_ACCESS_P4
#include "headers.p4"

// An IPv4 packet from a host, or a neighbouring router, that may be forwarded.
#define IS_FORWARDABLE(ipv4) (ipv4.isValid() && ipv4.version == 4 && ipv4.ihl >= 5 && ipv4.ttl > 1)

// On its way through. RFC 1141: one less in the high byte of a 16-bit word is 0x0100 more in the one's complement sum.
#define AGE(ipv4) \
    ipv4.ttl = ipv4.ttl - 1; \
    if (ipv4.checksum >= 0xfeff) { \
        ipv4.checksum = ipv4.checksum + 1; \
    } \
    ipv4.checksum = ipv4.checksum + 0x0100;

// The other frames from hosts and neighbouring routers. Hosts share one subnet, so the switch answers every ARP request
// with its own address and gets all they send; anything else has no business here.
control Access(inout ethernet_t ethernet,
               inout arp_ipv4_t arp,
               in ipv4_t ipv4,
               in mac_t mac,
               inout standard_metadata_t standard_metadata,
               inout DropReason drop_reason) {
    ipv4_address_t requested_ip;

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
        } else {
            drop_reason = DropReason.TTL_EXPIRED;
        }
    }
}

// What comes with this header has aged where it got it.
#define AGE_UNLESS(header, ipv4) \
    if (!header.isValid()) { \
        AGE(ipv4) \
    }

#endif
