// SPDX-License-Identifier: Apache-2.0
// XCP on the VOQs of an edge, and the agents of its outputs before optical packet switches, of which ports are the numbers.
//
//   packet ─────────> CheckXcp ──> xcp_output ──> XcpPacket
//   own probe ───────────────────> xcp_output ──> AgentProbe
//   interval tick ─────────────────> xcp_output ──fixed_capacity──────────────> XcpTick ──> flow control
//                                               ──slot_capacity──> xcp_slots ──┘
#ifndef SLOTWISE_EDGE_XCP_P4
#define SLOTWISE_EDGE_XCP_P4
#include "agent.p4"
#include "edge_parser.p4"
#include "version.p4"
#include "xcp.p4"
#include "xcp_interval.p4"

control EdgeXcp(inout edge_headers_t hdr,
                inout edge_metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    throughput_t capacity = 0;
    bit<32>    overhead_bytes = 0;
    bit<1>     slotted = 0;
    bit<1>     bank = 0;
    bit<16>    slots = 0;
    XcpVerdict verdict = XcpVerdict.STANDARD;
    xcp_params_t params;
    bit<1>     agent_ends = 0;  // an agent's interval does
    bit<64>    bytes = 0;       // that have come in it
    bit<64>    spared = 0;

    CheckXcp() check;
    XcpPacket() packet;
    @name(".EdgeIngress") XcpParams() xcp_params;
    XcpTick() tick;
    AgentBegin() begin;
    AgentEnd() end;
    AgentProbe() probe;

    counter(MAX_XCP_VERDICTS, CounterType.packets_and_bytes) xcp_headers;

    // Capacities in 1/16 byte/s; a packet takes `overhead` bytes of its fibre more than its IP length.

    action fixed_capacity(bit<44> throughput, bit<16> overhead) {
        capacity = (throughput_t)throughput;
        overhead_bytes = (bit<32>)overhead;
    }

    // What one slot a frame is worth.
    action slot_capacity(bit<44> throughput, bit<16> overhead) {
        capacity = (throughput_t)throughput;
        overhead_bytes = (bit<32>)overhead;
        slotted = 1;
    }

    action no_controller() {
    }

    table xcp_output {
        key = {
            meta.output: exact @name("queue");
        }
        actions = {
            fixed_capacity;
            slot_capacity;
            @defaultonly no_controller;
        }
        const default_action = no_controller();
        size = MAX_QUEUES;
    }

    action granted(bit<16> slots_a_frame) {
        slots = slots_a_frame;
    }

    action nothing_granted() {
    }

    table xcp_slots {
        key = {
            bank:        exact @name("bank");
            meta.output: exact @name("queue");
        }
        actions = {
            granted;
            @defaultonly nothing_granted;
        }
        const default_action = nothing_granted();
        size = 2 * MAX_QUEUES;
    }

    @hidden action choose_bank() {
        active_version.read(meta.versions.active, meta.core);
        bank = meta.versions.active[0:0];
    }

    // What the slots granted in a frame are worth.
    @hidden action grant_capacity() {
        capacity = capacity * (throughput_t)slots;
        AT_MOST(capacity, XCP_MAX_RATE)
    }

    // What leaves an edge is what its macroflows have sent, since all of it is theirs.
    @hidden action count_sent() {
        xcp_bytes.read(bytes, meta.output);
        xcp_bytes.write(meta.output, bytes + (bit<64>)hdr.probe.sent_bytes);
    }

    // The timer ticks again `meta.value` after this tick.
    @hidden action set_timer() {
        meta.to_linecard = 1;
        meta.queue = hdr.queue_report.queue;
        meta.op = FlowOp.SET_QUEUE_TIMER;
        if (hdr.interval_tick.timer == IntervalTimer.CONTROL) {
            meta.op = FlowOp.SET_CONTROL_TIMER;
        }
    }

    apply {
        if (hdr.xcp.isValid()) {
            check.apply(hdr.xcp, hdr.ipv4.total_len, standard_metadata.packet_length, verdict);
            xcp_headers.count((bit<32>)(bit<8>)verdict);
        }
        if (xcp_output.apply().hit) {
            if (hdr.xcp.isValid()) {
                packet.apply(meta.output, (bit<32>)hdr.ipv4.total_len + overhead_bytes, verdict, hdr.xcp);
            } else {
                if (slotted == 1) {
                    choose_bank();
                    xcp_slots.apply();
                    grant_capacity();
                }
                xcp_params.apply(params);
                if (hdr.probe.isValid()) {
                    count_sent();
                    probe.apply(meta.output, params.initial_rtt_ns, hdr.probe);
                } else {
                    if (meta.labels == 1 && hdr.interval_tick.timer == IntervalTimer.CONTROL) {
                        agent_ends = 1;
                        begin.apply(meta.output, bytes, spared);
                    }
                    tick.apply(params, meta.output, hdr.interval_tick, hdr.queue_report.backlog_bytes, capacity, meta.value);
                    set_timer();
                    if (agent_ends == 1) {
                        end.apply(meta.output, bytes, spared);
                    }
                }
            }
        } else if (hdr.interval_tick.isValid()) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        }
    }
}

#endif
