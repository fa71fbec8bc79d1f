// SPDX-License-Identifier: Apache-2.0
// What routers and stations share with v1model, with Tofino's counters and without conditions in actions.
#ifndef SLOTWISE_TNA_FORWARDING_P4
#define SLOTWISE_TNA_FORWARDING_P4
#include "target.p4"
#include "../include/access.p4"

#define direct_counter(type) DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES)

// In the action by which a packet is forwarded; a counter counts only what an action says. The checksum follows in AgeChecksum.
#undef AGE
#define AGE(ipv4) \
    ipv4.ttl = ipv4.ttl - 1; \
    ipv4_route_counter.count();

// RFC 1141: one less in the high byte of a 16-bit word is 0x0100 more in the one's complement sum.
control AgeChecksum(inout ipv4_t ipv4) {
    action age() {
        ipv4.checksum = ipv4.checksum + 0x0100;
    }

    action age_and_carry() {
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
