// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_ROUTER_PARSER_P4
#define SLOTWISE_ROUTER_PARSER_P4
#include "headers.p4"

struct router_headers_t {
    packet_out_t    packet_out;
    ethernet_t      ethernet;
    linecard_t      linecard;
    interval_tick_t interval_tick;
    queue_report_t  queue_report;
    flow_control_t  flow_control;
    arp_ipv4_t      arp;
    ipv4_t          ipv4;
    xcp_t           xcp;
}

struct router_metadata_t {
    mac_t      mac;  // set by router_params
    DropReason drop_reason;
    bool       xcp;     // an XCP packet for `output`, or an interval tick of it
    index_t    output;  // port, and number of the queue before it
}

parser RouterParser(packet_in packet,
                    out router_headers_t hdr,
                    inout router_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_CPU: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_LINECARD: parse_linecard;
            ETHERTYPE_IPV4:     parse_ipv4;
            ETHERTYPE_ARP:      parse_arp;
            default:            accept;
        }
    }

    state parse_linecard {
        packet.extract(hdr.linecard);
        transition select(hdr.linecard.version, hdr.linecard.kind) {
            (LINECARD_VERSION, LineCardKind.INTERVAL_TICK): parse_interval_tick;
            (LINECARD_VERSION, LineCardKind.QUEUE_REPORT):  parse_queue_report;
            default:                                        accept;
        }
    }

    state parse_interval_tick {
        packet.extract(hdr.interval_tick);
        transition parse_queue_report;
    }

    state parse_queue_report {
        packet.extract(hdr.queue_report);
        transition accept;
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_XCP): parse_xcp_if_long_enough;
            default:                    accept;
        }
    }

    // Whatever else experiments with this protocol number is payload.
    state parse_xcp_if_long_enough {
        transition select(hdr.ipv4.total_len) {
            0 .. 39: accept;  // less than an IPv4 header and XCP_LENGTH
            default: parse_xcp;
        }
    }

    state parse_xcp {
        packet.extract(hdr.xcp);
        transition accept;
    }
}

control RouterDeparser(packet_out packet, in router_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.linecard);
        packet.emit(hdr.flow_control);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.xcp);
    }
}

#endif
