// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_TNA_EDGE_STAR_P4
#define SLOTWISE_TNA_EDGE_STAR_P4
#include "version.p4"

// A packet's star, as it is needed: for registers, in headers, and the fibre's port.
struct star_of_t {
    star_t  star;
    bit<8>  number;
    port_t  port;
}

#endif
