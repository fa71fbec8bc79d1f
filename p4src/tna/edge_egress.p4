// SPDX-License-Identifier: Apache-2.0
// An edge behind the traffic manager: requests get what has been reported, XCP's packets their feedback. Nothing else comes this way.
#ifndef SLOTWISE_TNA_EDGE_EGRESS_P4
#define SLOTWISE_TNA_EDGE_EGRESS_P4
#include "reports.p4"
#include "edge_xcp.p4"
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
    bit<8>  way;
    bit<8>  cell;    // a request's block, or a report's
    index_t output;  // the queue of an XCP packet
}

struct edge_egress_headers_t {
    carried_t         carried;
    packet_in_t       packet_in;
    ethernet_t        ethernet;
    linecard_t        linecard;
    queue_report_t    queue_report;
    optical_t         optical;
    check_t           check;
    request_t         request;
    request_entries_t entries;
    ipv4_t            ipv4;
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
            (bit<8>)EgressWay.TELL:    parse_told;
            default:                   parse_xcp;
        }
    }

    state parse_report {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.linecard);
        packet.extract(hdr.queue_report);
        transition accept;
    }

    state parse_request {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.optical);
        packet.extract(hdr.request);
        transition accept;
    }

    state parse_told {
        packet.extract(hdr.packet_in);
        packet.extract(hdr.ethernet);
        packet.extract(hdr.optical);
        packet.extract(hdr.check);
        packet.extract(hdr.request);
        transition accept;
    }

    state parse_xcp {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.optical);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.xcp);
        transition accept;
    }
}

// Operands of a stateful ALU stay whole.
@pa_container_size("egress", "_EdgeEgress_packet_rtt_x", 32)
@pa_container_size("egress", "_EdgeEgress_packet_rtt_x_room", 32)
control EdgeEgress(inout edge_egress_headers_t hdr,
                   inout edge_egress_metadata_t meta,
                   in egress_intrinsic_metadata_t intrinsic,
                   in egress_intrinsic_metadata_from_parser_t from_parser,
                   inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout egress_intrinsic_metadata_for_output_port_t for_port) {
    Reports() reports;
    @name(".EdgeEgress") EdgeXcp() edge_xcp;

    bit<1> tells = 0;

    @hidden action drop() {
        for_deparser.drop_ctl = 1;
    }

    apply {
        if (hdr.request.isValid()) {
            tells = 1;
        }
        if (hdr.xcp.isValid()) {
            edge_xcp.apply(hdr.carried.output, hdr.ipv4.total_len, hdr.xcp);
        } else {
            reports.apply(tells, hdr.carried.cell[5:0], hdr.queue_report, hdr.entries);
        }
        if (hdr.queue_report.isValid()) {
            drop();
        }
    }
}

control EdgeEgressDeparser(packet_out packet,
                           inout edge_egress_headers_t hdr,
                           in edge_egress_metadata_t meta,
                           in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.optical);
        packet.emit(hdr.check);
        packet.emit(hdr.request);
        packet.emit(hdr.entries);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.xcp);
    }
}

#endif
