// SPDX-License-Identifier: Apache-2.0
// Probes, and XCP's agent of each output for data. Rates are paced at the edges, so an agent hears of a macroflow by its probes: one of
// them stands for one packet in XCP's sums, and what there is to give and to take back is XcpTick's. What is shuffled is given to, and taken
// from, those who are not satisfied.
//
//   probe ──> label_route ──> agent of its wavelength ──> least feedback so far ──> the fibre's wavelength for probes
//   reply ──> label_route ──────────────────────────────────────────────────────> the same
//   interval tick ──> agent ──> XcpTick ──> flow control
#ifndef SLOTWISE_OPS_PROBE_P4
#define SLOTWISE_OPS_PROBE_P4
#include "ops_params.p4"
#include "ops_switching.p4"
#include "timer.p4"
#include "xcp.p4"
#include "xcp_interval.p4"

// By output. What the satisfied have sent in this interval, as they say; of the last interval, what a byte has to give back of what is
// shuffled, if its macroflow is not satisfied, and of what is too much, in (1/16 byte/s) / byte.
register<bit<64>>(OPS_PORTS)  spared_bytes;
register<factor_t>(OPS_PORTS) shuffle_factor;
register<factor_t>(OPS_PORTS) overload_factor;

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

    bit<1>   control_ends = 0;
    bit<64>  sum;
    bit<64>  bytes = 0;  // that have come in the interval
    bit<64>  spared = 0;
    bit<64>  shuffled;
    bit<64>  overload;
    bit<64>  dividend;
    bit<64>  divisor;
    bit<64>  value;
    factor_t factor;
    factor_t first;
    bit<8>   part;
    bit<64>  positive;
    bit<64>  negative;
    bit<64>  share;
    bit<64>  asked;      // feedback + 2^31
    bit<64>  offered;

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

    @hidden action take_bytes() {
        xcp_bytes.read(bytes, meta.output);
        spared_bytes.read(spared, meta.output);
        spared_bytes.write(meta.output, 0);
    }

    // What is given beside what is taken is shuffled; the rest of what is taken is too much.
    @hidden action read_shuffled() {
        xcp_positive_residue.read(positive, meta.output);
        xcp_negative_residue.read(negative, meta.output);
        shuffled = negative;
        AT_MOST(shuffled, positive)
        overload = negative - shuffled;
    }

    @hidden action leave_factors() {
        read_shuffled();
        first = 0;
        factor = 0;
        for (part = 0; part < 2; part = part + 1) {
            first = factor;
            factor = 0;
            dividend = overload;
            divisor = bytes;
            if (part == 0) {
                dividend = shuffled;
                divisor = bytes |-| spared;
            }
            if (divisor != 0) {
                divide(dividend, 1, divisor, value, factor);
            }
        }
        shuffle_factor.write(meta.output, first);
        overload_factor.write(meta.output, factor);
    }

    // Of the interval to come. All macroflows' round trips count as one period, so that the persistent queue is to be gone in one.
    @hidden action count_probe() {
        if ((hdr.probe.flags & PROBE_SATISFIED) == 0) {
            xcp_sum_x.read(sum, meta.output);
            xcp_sum_x.write(meta.output, sum + 1);
            xcp_sum_rtt_x_low.read(sum, meta.output);
            xcp_sum_rtt_x_low.write(meta.output, sum + (bit<64>)params.initial_rtt_ns);
        } else {
            spared_bytes.read(sum, meta.output);
            spared_bytes.write(meta.output, sum + (bit<64>)hdr.probe.sent_bytes);
        }
    }

    // An equal part of what there is to give, less a part of what is to be taken back by what the macroflow has sent. With 2^35 added
    // (2^31 byte/s) nothing is negative.
    @hidden action write_feedback() {
        read_shuffled();
        overload_factor.read(factor, meta.output);
        take_share(factor, hdr.probe.sent_bytes, overload, negative);
        offered = 0x800000000;
        if ((hdr.probe.flags & PROBE_SATISFIED) == 0) {
            xcp_positive_factor.read(factor, meta.output);
            take_share(factor, 1, positive, share);
            offered = offered + share;
            shuffle_factor.read(factor, meta.output);
            take_share(factor, hdr.probe.sent_bytes, shuffled, share);
            negative = negative + share;
        }
        offered = (offered |-| negative) >> 4;
        asked = (bit<64>)(hdr.probe.feedback ^ 0x80000000);
        AT_MOST(asked, offered)
        hdr.probe.feedback = asked[31:0] ^ 0x80000000;
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
                    take_bytes();
                }
                tick.apply(params, meta.output, hdr.interval_tick, hdr.queue_report.backlog_bytes, target, next_ns);
                set_timer.apply(hdr.linecard, hdr.interval_tick, hdr.flow_control, hdr.queue_report.queue, next_ns);
                if (control_ends == 1) {
                    leave_factors();
                }
                to_card();
            } else {
                count_probe();
                write_feedback();
            }
        } else if (meta.duty == Duty.TICK) {
            nobody_waits();
        }
    }
}

#endif
