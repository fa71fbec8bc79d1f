// SPDX-License-Identifier: Apache-2.0
// What fields are made of: a value of one of these types needs no cast where it goes.
#ifndef SLOTWISE_TYPES_P4
#define SLOTWISE_TYPES_P4

typedef bit<48> mac_t;
typedef bit<32> ipv4_address_t;
typedef bit<9>  port_t;        // of a switch
typedef bit<16> edge_t;        // number of an edge
typedef bit<32> core_t;        // number of a core, and so of its star
typedef bit<16> queue_t;       // of a line card
typedef bit<32> index_t;       // of a register's or counter's cells
typedef bit<16> slot_t;
typedef bit<32> frame_t;       // serial number (RFC 1982)
typedef bit<32> version_t;     // of the schedule, a serial number
typedef bit<32> session_t;     // nonce of the invitation with which it began, a serial number
typedef bit<64> time_ns_t;     // a line card's local time, or a span; spans may be two's complement
typedef bit<48> clock_t;       // the switch's own time, or a span, in the target's unit
typedef bit<64> throughput_t;  // 1/16 byte/s
typedef bit<16> station_t;     // number of a station of a ring
typedef bit<32> rate_t;        // byte/s
typedef bit<40> factor_t;      // a mantissa of 32 bits, and how far products with it are shifted right

#endif
