// SPDX-License-Identifier: Apache-2.0
// XCP on the ports of a router.
//
//   packet ─────────> CheckXcp ──> xcp_output ──> XcpPacket
//   interval tick ─────────────────> xcp_output ──> XcpTick ──> flow control
#ifndef SLOTWISE_ROUTER_XCP_P4
#define SLOTWISE_ROUTER_XCP_P4
#include "router_parser.p4"
#include "timer.p4"
#include "xcp.p4"
#include "xcp_interval.p4"

control RouterXcp(inout router_headers_t hdr,
                  inout router_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    throughput_t capacity = 0;
    bit<32>    overhead_bytes = 0;
    time_ns_t  next_ns = 0;
    XcpVerdict verdict = XcpVerdict.STANDARD;
    xcp_params_t params;

    CheckXcp() check;
    XcpPacket() packet;
    @name(".RouterIngress") XcpParams() xcp_params;
    XcpTick() tick;
    SetTimer() set_timer;

    counter(MAX_XCP_VERDICTS, CounterType.packets_and_bytes) xcp_headers;

    // In 1/16 byte/s; a packet takes `overhead` bytes of the link more than its IP length.
    action fixed_capacity(bit<44> throughput, bit<16> overhead) {
        capacity = (throughput_t)throughput;
        overhead_bytes = (bit<32>)overhead;
    }

    action no_controller() {
    }

    table xcp_output {
        key = {
            meta.output: exact @name("queue");
        }
        actions = {
            fixed_capacity;
            @defaultonly no_controller;
        }
        const default_action = no_controller();
        size = 512;
    }

    apply {
        if (hdr.xcp.isValid()) {
            check.apply(hdr.xcp, hdr.ipv4.total_len, standard_metadata.packet_length, verdict);
            xcp_headers.count((bit<32>)(bit<8>)verdict);
        }
        if (xcp_output.apply().hit) {
            if (hdr.xcp.isValid()) {
                packet.apply(meta.output, (bit<32>)hdr.ipv4.total_len + overhead_bytes, verdict, hdr.xcp);
            } else if (hdr.linecard.isValid()) {
                xcp_params.apply(params);
                tick.apply(params, meta.output, hdr.interval_tick, hdr.queue_report.backlog_bytes, capacity, next_ns);
                set_timer.apply(hdr.linecard, hdr.interval_tick, hdr.flow_control, hdr.queue_report.queue, next_ns);
                standard_metadata.egress_spec = PORT_LINECARD;
            }
        } else if (hdr.interval_tick.isValid()) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        }
    }
}

#endif
