// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_CORE_PARSER_P4
#define SLOTWISE_CORE_PARSER_P4
#include "headers.p4"
#include "version.p4"

struct core_headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    linecard_t   linecard;
    slot_tick_t  slot_tick;
    optical_t    optical;
    commit_t     commit;
}

struct core_metadata_t {
    // Set by core_params, in the target's timestamp unit.
    clock_t guard;
    clock_t slot;
    clock_t time_per_byte_q16;

    versions_t versions;
    wrong_t    wrong;
    DropReason drop_reason;
}

parser CoreParser(packet_in packet,
                  out core_headers_t hdr,
                  inout core_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    // Light on a fibre goes through unread.
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_LINECARD:     parse_ethernet;
            PORT_CORE_CONTROL: parse_ethernet;
            PORT_CPU:          parse_packet_out;
            default:           accept;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_OPTICAL:  parse_optical;
            ETHERTYPE_LINECARD: parse_linecard;
            default:            accept;
        }
    }

    state parse_linecard {
        packet.extract(hdr.linecard);
        transition select(hdr.linecard.version, hdr.linecard.kind) {
            (LINECARD_VERSION, LineCardKind.SLOT_TICK): parse_slot_tick;
            default:                                    accept;
        }
    }

    state parse_slot_tick {
        packet.extract(hdr.slot_tick);
        transition accept;
    }

    state parse_optical {
        packet.extract(hdr.optical);
        transition select(hdr.optical.version, hdr.optical.kind) {
            (OPTICAL_VERSION, OpticalKind.COMMIT): parse_commit;
            default:                               accept;
        }
    }

    state parse_commit {
        packet.extract(hdr.commit);
        transition accept;
    }
}

// Only light leaves a core, and it was not read.
control CoreDeparser(packet_out packet, in core_headers_t hdr) {
    apply { }
}

#endif
