// SPDX-License-Identifier: Apache-2.0
// An edge behind the traffic manager: requests get what has been reported, packets of XCP what they may. Nothing else comes this way.
#ifndef SLOTWISE_TNA_EDGE_EGRESS_P4
#define SLOTWISE_TNA_EDGE_EGRESS_P4
#include "edge_xcp.p4"
#include "reports.p4"
#include "../include/edge_parser.p4"

// What a packet is behind the traffic manager for.
enum bit<8> EgressWay {
    REPORT  = 1,
    REQUEST = 2,
    TELL    = 3,  // a request of the master's own, for the controller
    XCP     = 4
}

// What the traffic manager carries with it, in front; it is on no wire.
header carried_t {
    bit<8> way;
}

// Ethernet's and optical_t, of which nothing is looked at but the queue.
header front_t {
    bit<160> before;
    bit<16>  queue;
    bit<64>  after;
}

header ip_front_t {
    bit<16>  before;
    bit<16>  total_len;
    bit<128> after;
}

struct edge_egress_headers_t {
    carried_t         carried;
    packet_in_t       packet_in;
    front_t           front;
    queue_report_t    queue_report;
    check_t           check;
    request_t         request;
    request_entries_t entries;
    ip_front_t        ipv4;
    xcp_t             xcp;
}

struct edge_egress_metadata_t { }

parser EdgeEgressParser(packet_in packet,
                        out edge_egress_headers_t hdr,
                        out edge_egress_metadata_t meta,
                        out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.carried);
        transition select(hdr.carried.way) {
            (bit<8>)EgressWay.REPORT:  parse_report;
            (bit<8>)EgressWay.REQUEST: parse_request;
            (bit<8>)EgressWay.XCP:     parse_xcp;
            default:                   parse_told;
        }
    }

    state parse_report {
        packet.extract(hdr.queue_report);
        transition accept;
    }

    state parse_request {
        packet.extract(hdr.front);
        packet.extract(hdr.request);
        transition accept;
    }

    state parse_xcp {
        packet.extract(hdr.front);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.xcp);
        transition accept;
    }

    state parse_told {
        packet.extract(hdr.packet_in);
        packet.extract(hdr.front);
        packet.extract(hdr.check);
        packet.extract(hdr.request);
        transition accept;
    }
}

// To be tried: @pa_mutually_exclusive("egress", FIELD of XCP, FIELD of request, entries, report, packet_in), 504 of them left 12 slices over.
control EdgeEgress(inout edge_egress_headers_t hdr,
                   inout edge_egress_metadata_t meta,
                   in egress_intrinsic_metadata_t intrinsic,
                   in egress_intrinsic_metadata_from_parser_t from_parser,
                   inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout egress_intrinsic_metadata_for_output_port_t for_port) {
    Reports() reports;
    @name(".EdgeIngress") EdgeXcp() edge_xcp;

    bit<1> tells = 0;
    bit<6> cell = 0;

    @hidden action tell() {
        tells = 1;
        cell = hdr.request.block[5:0];
    }

    @hidden action note() {
        cell = hdr.queue_report.queue[9:4];
        for_deparser.drop_ctl = 1;
    }

    apply {
        if (hdr.xcp.isValid()) {
            edge_xcp.apply((index_t)hdr.front.queue, hdr.ipv4.total_len, hdr.xcp);
        } else {
            if (hdr.request.isValid()) {
                tell();
            } else {
                note();
            }
            reports.apply(tells, cell, hdr.queue_report, hdr.entries);
        }
    }
}

control EdgeEgressDeparser(packet_out packet,
                           inout edge_egress_headers_t hdr,
                           in edge_egress_metadata_t meta,
                           in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.front);
        packet.emit(hdr.check);
        packet.emit(hdr.request);
        packet.emit(hdr.entries);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.xcp);
    }
}

#endif
