// SPDX-License-Identifier: Apache-2.0
// A pipe of its own for an edge's packets of XCP, since the pipe of its fibre has no room for it: they come by a loop, each with the queue that it
// is for in its optical header, and go on into that queue.
//
//   fibre's pipe ──> port 507, looped ──> EdgeXcp ──> VOQ
#ifndef SLOTWISE_TNA_XCP_PIPE_P4
#define SLOTWISE_TNA_XCP_PIPE_P4
#include "target.p4"
#include "edge_xcp.p4"
#include "gates.p4"
#include "no_egress.p4"
#include "ports.p4"

// Ethernet's and optical_t, of which nothing is looked at but the queue.
header front_t {
    bit<160> before;
    queue_t  queue;
    bit<64>  after;
}

// ipv4_t, of which the length is.
header ip_front_t {
    bit<16>  before;
    bit<16>  total_len;
    bit<128> after;
}

struct xcp_pipe_headers_t {
    front_t    front;
    ip_front_t ipv4;
    xcp_t      xcp;
}

struct xcp_pipe_metadata_t {
    port_t port;
}

parser XcpPipeParser(packet_in packet,
                     out xcp_pipe_headers_t hdr,
                     out xcp_pipe_metadata_t meta,
                     out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        READ_PORT(meta.port)
        transition select(meta.port) {
            PORT_XCP: parse_xcp;
            default:  accept;  // and is dropped
        }
    }

    state parse_xcp {
        packet.extract(hdr.front);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.xcp);
        transition accept;
    }
}

// Operands of a stateful ALU stay whole. The instance is named so that P4Info says EdgeIngress.<table>, as of the other pipe.
@pa_container_size("ingress", "_EdgeIngress_packet_rtt_x", 32)
@pa_container_size("ingress", "_EdgeIngress_packet_rtt_x_room", 32)
control XcpPipe(inout xcp_pipe_headers_t hdr,
                inout xcp_pipe_metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".EdgeIngress") EdgeXcp() edge_xcp;

    @name(".EdgeIngress") DeviceVoq() device_voq;

    index_t output = 0;

    @hidden action drop() {
        for_deparser.drop_ctl = 1;
    }

    @hidden action begin() {
        for_tm.bypass_egress = 1;
        output = (index_t)hdr.front.queue;
    }

    apply {
        begin();
        if (hdr.xcp.isValid()) {
            device_voq.apply(hdr.front.queue, for_deparser, for_tm);
            edge_xcp.apply(output, hdr.ipv4.total_len, hdr.xcp);
        } else {
            drop();
        }
    }
}

control XcpPipeDeparser(packet_out packet,
                        inout xcp_pipe_headers_t hdr,
                        in xcp_pipe_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(XcpPipeParser(),
         XcpPipe(),
         XcpPipeDeparser(),
         NoEgressParser(),
         NoEgress(),
         NoEgressDeparser()) xcp_pipe;

#endif
