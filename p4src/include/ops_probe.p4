// SPDX-License-Identifier: Apache-2.0
// Probes, and the agents of outputs for data.
//
//   probe ──> label_route ──> agent of its wavelength ──> least feedback so far ──> the fibre's wavelength for probes
//   reply ──> label_route ──────────────────────────────────────────────────────> the same
//   interval tick ──> agent ──> XcpTick ──> flow control
#ifndef SLOTWISE_OPS_PROBE_P4
#define SLOTWISE_OPS_PROBE_P4
#include "agent.p4"
#include "ops_params.p4"
#include "ops_switching.p4"
#include "timer.p4"

// The first fibre that does not lead back.
control ProbeWay(inout ops_headers_t hdr, inout ops_metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<8>  rank;
    bit<8>  fibre;
    index_t port;

    @hidden action choose() {
        meta.drop_reason = DropReason.NO_ROUTE;
        for (rank = 0; rank < FIBRE_CHOICES; rank = rank + 1) {
            fibre = meta.choices[31:24];
            meta.choices = meta.choices << 8;
            port = WAVELENGTH_PORT(fibre, meta.wavelengths);
            if (meta.drop_reason == DropReason.NO_ROUTE && fibre != NO_FIBRE && fibre != meta.fibre && IS_OPTICAL_PORT(port)) {
                meta.drop_reason = DropReason.NONE;
                meta.egress = port;
                meta.output = WAVELENGTH_PORT(fibre, hdr.label.wavelength);
                hdr.label.hops_left = hdr.label.hops_left - 1;
                standard_metadata.egress_spec = (port_t)port;
            }
        }
    }

    apply {
        choose();
    }
}

control OpsAgent(inout ops_headers_t hdr, inout ops_metadata_t meta, inout standard_metadata_t standard_metadata) {
    throughput_t target = 0;
    time_ns_t    next_ns = 0;
    xcp_params_t params;
    bit<1>       control_ends = 0;
    bit<64>      bytes = 0;  // that have come in the interval
    bit<64>      spared = 0;

    AgentBegin() begin;
    AgentEnd() end;
    AgentProbe() probe;
    @name(".OpsIngress") XcpParams() xcp_params;
    XcpTick() tick;
    SetTimer() set_timer;

    // Capacity times target utilization, in 1/16 byte/s.
    action set_target(bit<44> throughput) {
        target = (throughput_t)throughput;
    }

    action no_agent() {
    }

    table agent {
        key = {
            meta.output: exact @name("port");
        }
        actions = {
            set_target;
            @defaultonly no_agent;
        }
        const default_action = no_agent();
        size = 512;
    }

    @hidden action of_tick() {
        meta.output = (index_t)hdr.queue_report.queue;
        if (hdr.interval_tick.timer == IntervalTimer.CONTROL) {
            control_ends = 1;
        }
    }

    @hidden action nobody_waits() {
        meta.drop_reason = DropReason.NO_SIGNALING;
    }

    @hidden action to_card() {
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        if (meta.duty == Duty.TICK) {
            of_tick();
        }
        if (agent.apply().hit) {
            xcp_params.apply(params);
            if (meta.duty == Duty.TICK) {
                if (control_ends == 1) {
                    begin.apply(meta.output, bytes, spared);
                }
                tick.apply(params, meta.output, hdr.interval_tick, hdr.queue_report.backlog_bytes, target, next_ns);
                set_timer.apply(hdr.linecard, hdr.interval_tick, hdr.flow_control, hdr.queue_report.queue, next_ns);
                if (control_ends == 1) {
                    end.apply(meta.output, bytes, spared);
                }
                to_card();
            } else {
                probe.apply(meta.output, params.initial_rtt_ns, hdr.probe);
            }
        } else if (meta.duty == Duty.TICK) {
            nobody_waits();
        }
    }
}

#endif
