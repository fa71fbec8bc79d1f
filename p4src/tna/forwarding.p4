// SPDX-License-Identifier: Apache-2.0
// What routers share with v1model, without conditions in actions: a packet ages after its route is found.
#ifndef SLOTWISE_TNA_FORWARDING_P4
#define SLOTWISE_TNA_FORWARDING_P4
#include "target.p4"
#include "counting.p4"
#include "../include/access.p4"

// In the action by which a packet is forwarded.
#undef AGE
#define AGE(ipv4) COUNT(ipv4_route_counter)
#undef AGE_UNLESS
#define AGE_UNLESS(header, ipv4) COUNT(ipv4_route_counter)

// RFC 1141: one less in the high byte of a 16-bit word is 0x0100 more in the one's complement sum.
control Age(inout ipv4_t ipv4) {
    @hidden action age() {
        ipv4.ttl = ipv4.ttl - 1;
        ipv4.checksum = ipv4.checksum + 0x0100;
    }

    @hidden action age_and_carry() {
        ipv4.ttl = ipv4.ttl - 1;
        ipv4.checksum = ipv4.checksum + 0x0101;
    }

    apply {
        if (ipv4.checksum == 0xfeff || ipv4.checksum[15:8] == 0xff) {
            age_and_carry();
        } else {
            age();
        }
    }
}

#endif
