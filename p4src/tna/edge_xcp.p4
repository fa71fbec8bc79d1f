// SPDX-License-Identifier: Apache-2.0
// Stands for include/edge_xcp.p4: XCP on the VOQs of an edge. Interval ticks are the agent's, which has the sums.
//
//   packet ──> CheckXcp ──> xcp_output ──> XcpPacket
#ifndef SLOTWISE_EDGE_XCP_P4
#define SLOTWISE_EDGE_XCP_P4
#define XCP_OUTPUTS 1024
#include "xcp.p4"

control EdgeXcp(in index_t output, in bit<16> ipv4_length, inout xcp_t xcp) {
    bit<16>    overhead_bytes = 0;
    bit<16>    bytes = 0;
    XcpVerdict verdict = XcpVerdict.STANDARD;

    CheckXcp() check;
    XcpPacket() packet;

    Counter<bit<64>, bit<8>>(MAX_XCP_VERDICTS, CounterType_t.PACKETS_AND_BYTES) xcp_headers;

    // A packet takes `overhead` bytes of its fibre more than its IP length; what the VOQ may carry is for the agent.
    action fixed_capacity(bit<44> throughput, bit<16> overhead) {
        overhead_bytes = overhead;
    }

    // What one slot a frame is worth.
    action slot_capacity(bit<44> throughput, bit<16> overhead) {
        overhead_bytes = overhead;
    }

    action no_controller() {
    }

    // By the bits of a queue, as in router_xcp.p4.
    table xcp_output {
        key = {
            output[9:0]: exact @name("queue");
        }
        actions = {
            fixed_capacity;
            slot_capacity;
            @defaultonly no_controller;
        }
        const default_action = no_controller();
        size = XCP_OUTPUTS;
    }

    action measure() {
        bytes = ipv4_length |+| overhead_bytes;
    }

    apply {
        check.apply(xcp, verdict);
        xcp_headers.count((bit<8>)verdict);
        if (xcp_output.apply().hit) {
            measure();
            packet.apply(output, bytes, verdict, xcp);
        }
    }
}

#endif
