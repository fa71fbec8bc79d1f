// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_RING_PARSER_P4
#define SLOTWISE_RING_PARSER_P4
#include "headers.p4"
#include "verdict.p4"

const bit<3> IP_MORE_FRAGMENTS = 1;  // bit of ipv4_t.flags

// The FAIRNESS_ENTRIES times fairness_entry_t and add_limit_t, and the REPORT_SOURCES times report_source_t: each one header,
// since the deparser asks of each whether it is there.
#define FAIRNESS_ENTRY(i) bit<32> place_##i; rate_t rate_##i;
header fairness_entries_t {
    FAIRNESS_ENTRY(0) FAIRNESS_ENTRY(1) FAIRNESS_ENTRY(2) FAIRNESS_ENTRY(3)
}

#define ADD_LIMIT(i) bit<8> hops_##i; bit<24> reserved_##i; rate_t rate_##i;
header add_limit_entries_t {
    ADD_LIMIT(0) ADD_LIMIT(1) ADD_LIMIT(2) ADD_LIMIT(3)
}

#define REPORT_SOURCE(i) rate_t rate_##i;
header report_sources_t {
    REPORT_SOURCE(0) REPORT_SOURCE(1) REPORT_SOURCE(2) REPORT_SOURCE(3)
    REPORT_SOURCE(4) REPORT_SOURCE(5) REPORT_SOURCE(6) REPORT_SOURCE(7)
    REPORT_SOURCE(8) REPORT_SOURCE(9) REPORT_SOURCE(10) REPORT_SOURCE(11)
    REPORT_SOURCE(12) REPORT_SOURCE(13) REPORT_SOURCE(14) REPORT_SOURCE(15)
}

// Of a place, which is fairness_entry_t without its rate.
#define PLACE_HEAD(place)  (place)[31:16]
#define PLACE_HOPS(place)  (place)[15:8]
#define PLACE_REACH(place) (place)[7:0]

struct ring_headers_t {
    packet_in_t         packet_in;
    packet_out_t        packet_out;
    ethernet_t          ethernet;
    linecard_t          linecard;
    ring_tick_t         ring_tick;
    add_limits_t        add_limits;
    add_limit_entries_t limits;
    ring_t              ring;
    ring_data_t         ring_data;
    check_t             check;
    fairness_t          fairness;
    fairness_entries_t  entries;
    ring_report_t       report;
    report_sources_t    sources;
    arp_ipv4_t          arp;
    ipv4_t              ipv4;
    l4_ports_t          l4;
}

// Where a packet comes from.
enum bit<8> From {
    ACCESS         = 0,
    LINECARD       = 1,
    CONTROLLER     = 2,  // for this switch
    CONTROLLER_OUT = 3,  // for a port
    RING           = 4,
    NOWHERE        = 5   // a port that nothing may come from
}

// What it is, if it is ours.
enum bit<8> Message {
    NONE           = 0,
    OTHER_LINECARD = 1,  // of a version or kind that this program does not know
    RING_TICK      = 2,
    OTHER_RING     = 3,  // of a version or kind that this program does not know
    DATA           = 4,
    FAIRNESS       = 5
}

// What this station has to do with it.
enum bit<8> Duty {
    NONE     = 0,  // it has been refused
    ROUTE    = 1,  // for a host here or, of a host, for one elsewhere
    ANSWER   = 2,  // of a host, and no packet to be routed
    PASS_ON  = 3,
    LEAVE    = 4,  // by the port that the controller names
    MEASURE  = 5,  // an interval ends
    TELL     = 6,  // a tick becomes a message
    TAKE     = 7   // a message says what may be added
}

struct ring_metadata_t {
    From       from;
    Message    message;
    Duty       duty;
    DropReason drop_reason;
    wrong_t    wrong;

    // Set by station_params.
    station_t station;
    bit<16>   stations;
    mac_t     mac;
    bit<8>    weight;

    // Set by ringlet.
    bit<4>    ringlet;     // that the packet is on, or about; RINGLETS: none
    index_t   link;        // the same, of registers
    station_t downstream;  // the next station
    RingMode  mode;
    rate_t    capacity;
    rate_t    target;      // the link is congested above it
    rate_t    relief;      // and no longer, below it

    // Set by ring_timing.
    bit<32> interval_ns;
    bit<32> intervals_q8;    // a second, in 1/256
    bit<8>  old_shift;       // W1 of the estimators is 2 to this
    bit<8>  new_shift;       // W2
    bit<16> window;          // intervals
    bit<32> windows_q8;      // a second, in 1/256
    bit<16> bucket_bytes;    // that a station may add beyond its rate
    bit<32> hol_timer_ns;
    bit<16> calm_intervals;  // after which congestion is over
    bit<16> hold_intervals;  // after which what was told is forgotten
    bit<16> wait_intervals;  // between corrections
    bit<16> report_intervals;

    // Fair traffic on the link to be counted: 0 bytes for none.
    station_t source;
    bit<8>    source_weight;
    bit<8>    source_hops;
    bit<32>   fair_bytes;

    // At an interval's end.
    bit<64>   link_rate_q8;
    bit<64>   transit_rate_q8;
    bit<64>   added_rate_q8;
    bit<64>   committed_rate_q8;
    RingPhase phase;
    bit<1>    onset;      // congestion begins
    bit<1>    tells;      // this station is the head of a span, and has a rate for it
    rate_t    told_rate;  // by weight
    bit<16>   ticks;      // that the card sends at once
    bit<1>    tells_on;   // the message that was taken becomes one to the station before

    // What becomes of the packet.
    bit<1>    to_ring;    // it gets a ring header
    station_t destination;
    bit<8>    hops;
    RingClass traffic_class;
    bit<32>   crc;
    bit<16>   l4_src;     // of TCP and UDP
    bit<16>   l4_dst;
}

parser RingParser(packet_in packet,
                  out ring_headers_t hdr,
                  inout ring_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_SELF:               from_nowhere;
            0 &&& PORT_OPTICAL_BASE: parse_ethernet;
            PORT_RING_EAST:          from_ring;
            PORT_RING_WEST:          from_ring;
            PORT_LINECARD:           from_linecard;
            PORT_CPU:                from_controller;
            default:                 from_nowhere;
        }
    }

    state from_linecard {
        meta.from = From.LINECARD;
        transition parse_ethernet;
    }

    state from_ring {
        meta.from = From.RING;
        transition parse_ethernet;
    }

    state from_nowhere {
        meta.from = From.NOWHERE;
        transition parse_ethernet;
    }

    // Only a message for the switch itself is looked into.
    state from_controller {
        meta.from = From.CONTROLLER_OUT;
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.egress_port) {
            PORT_SELF: for_self;
            default:   accept;
        }
    }

    state for_self {
        meta.from = From.CONTROLLER;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4:     parse_ipv4;
            ETHERTYPE_OPTICAL:  parse_ring;
            ETHERTYPE_LINECARD: parse_linecard;
            ETHERTYPE_ARP:      parse_arp;
            default:            accept;
        }
    }

    state parse_linecard {
        packet.extract(hdr.linecard);
        meta.message = Message.OTHER_LINECARD;
        transition select(hdr.linecard.version, hdr.linecard.kind) {
            (LINECARD_VERSION, LineCardKind.RING_TICK): parse_ring_tick;
            default:                                    accept;
        }
    }

    state parse_ring_tick {
        packet.extract(hdr.ring_tick);
        meta.message = Message.RING_TICK;
        transition accept;
    }

    state parse_ring {
        packet.extract(hdr.ring);
        meta.message = Message.OTHER_RING;
        transition select(hdr.ring.version, hdr.ring.kind) {
            (RING_VERSION, RingKind.DATA):     parse_data;
            (RING_VERSION, RingKind.FAIRNESS): parse_fairness;
            default:                           accept;
        }
    }

    state parse_data {
        packet.extract(hdr.ring_data);
        meta.message = Message.DATA;
        transition select(hdr.ring_data.inner_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default:        accept;
        }
    }

    state parse_fairness {
        packet.extract(hdr.check);
        packet.extract(hdr.fairness);
        packet.extract(hdr.entries);
        meta.message = Message.FAIRNESS;
        transition accept;
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    // Ports are read only behind a header without options, and not of fragments: the later ones have none.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0 &&& IP_MORE_FRAGMENTS, 0, IP_PROTOCOL_TCP): parse_l4_ports;
            (4, 5, 0 &&& IP_MORE_FRAGMENTS, 0, IP_PROTOCOL_UDP): parse_l4_ports;
            default:                                             accept;
        }
    }

    state parse_l4_ports {
        packet.extract(hdr.l4);
        meta.l4_src = hdr.l4.src;
        meta.l4_dst = hdr.l4.dst;
        transition accept;
    }
}

control RingDeparser(packet_out packet, in ring_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.linecard);
        packet.emit(hdr.add_limits);
        packet.emit(hdr.limits);
        packet.emit(hdr.ring);
        packet.emit(hdr.ring_data);
        packet.emit(hdr.check);
        packet.emit(hdr.fairness);
        packet.emit(hdr.entries);
        packet.emit(hdr.report);
        packet.emit(hdr.sources);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.l4);
    }
}

#endif
