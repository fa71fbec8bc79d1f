// SPDX-License-Identifier: Apache-2.0
// Stands for include/looking.p4.
#ifndef SLOTWISE_LOOKING_P4
#define SLOTWISE_LOOKING_P4
#include "target.p4"

// A frame has 60 bytes at least, so TCP's header behind one of IPv4 is in it.
#define FRAME_LENGTH(standard_metadata) 32w60

// They only go on, as payload; who looks at them is another pipe, but in tests, which are of one.
#ifdef P4TESTGEN
#define EXTRACT_BODY(packet, body) packet.extract(body);
#else
#define EXTRACT_BODY(packet, body)
#endif
#define EXTRACT_ENTRIES(packet, entries)

// A parser compares, and adds nothing: IPv4's header, then TCP's by its length in words.
#define LOOK_FOR_PAYLOAD(packet, ipv4_length, acknowledgement) \
        transition select(ipv4_length, packet.lookahead<bit<72>>()[7:4]) { \
            (40, 5):  parse_acknowledgement; \
            (44, 6):  parse_acknowledgement; \
            (48, 7):  parse_acknowledgement; \
            (52, 8):  parse_acknowledgement; \
            (56, 9):  parse_acknowledgement; \
            (60, 10): parse_acknowledgement; \
            (64, 11): parse_acknowledgement; \
            (68, 12): parse_acknowledgement; \
            (72, 13): parse_acknowledgement; \
            (76, 14): parse_acknowledgement; \
            (80, 15): parse_acknowledgement; \
            default:  accept; \
        } \
    } \
    state parse_acknowledgement { \
        acknowledgement = 1;

#endif
