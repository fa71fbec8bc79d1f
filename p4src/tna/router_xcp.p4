// SPDX-License-Identifier: Apache-2.0
// Stands for include/router_xcp.p4: XCP on the ports of a router. Interval ticks are the agent's, which has the sums.
//
//   packet ──> CheckXcp ──> xcp_output ──> XcpPacket
#ifndef SLOTWISE_ROUTER_XCP_P4
#define SLOTWISE_ROUTER_XCP_P4
#include "xcp.p4"
#include "../include/router_parser.p4"

control RouterXcp(inout router_headers_t hdr, inout router_metadata_t meta) {
    bit<16>    overhead_bytes = 0;
    bit<16>    bytes = 0;
    XcpVerdict verdict = XcpVerdict.STANDARD;

    CheckXcp() check;
    XcpPacket() packet;

    Counter<bit<64>, bit<8>>(MAX_XCP_VERDICTS, CounterType_t.PACKETS_AND_BYTES) xcp_headers;

    // A packet takes `overhead` bytes of the link more than its IP length; how many it has is for the agent.
    action fixed_capacity(bit<44> throughput, bit<16> overhead) {
        overhead_bytes = overhead;
    }

    action no_controller() {
    }

    // By the bits of a port: with all 32 the table shares a hash group with a comparison, which the assembler warns of.
    table xcp_output {
        key = {
            meta.output[8:0]: exact @name("queue");
        }
        actions = {
            fixed_capacity;
            @defaultonly no_controller;
        }
        const default_action = no_controller();
        size = 512;
    }

    action measure() {
        bytes = hdr.ipv4.total_len |+| overhead_bytes;
    }

    apply {
        check.apply(hdr.xcp, verdict);
        xcp_headers.count((bit<8>)verdict);
        if (xcp_output.apply().hit) {
            measure();
            packet.apply(meta.output, bytes, verdict, hdr.xcp);
        }
    }
}

#endif
