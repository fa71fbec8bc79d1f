// SPDX-License-Identifier: Apache-2.0
// XCP for an output's interval ticks: the control interval's feedback, the persistent queue, and when
// the timer ticks next. docs/architecture.md has the formulas.
//
//   CONTROL ──> sums ──> mean RTT, input rate ──> phi, shuffling ──> factors and residues ──┐
//   QUEUE ────> persistent queue ───────────────────────────────────────────────────────────┴──> timer
#ifndef SLOTWISE_XCP_INTERVAL_P4
#define SLOTWISE_XCP_INTERVAL_P4
#include "quotient.p4"
#include "xcp.p4"

register<bit<64>>(MAX_QUEUES) xcp_last_tick_ns;       // local time of the line card
register<bit<32>>(MAX_QUEUES) xcp_mean_rtt_ns;        // of the last control interval
register<bit<32>>(MAX_QUEUES) xcp_persistent_bytes;   // smallest queue of the last queue interval

// A byte/ns is 16e9 of the unit 1/16 byte/s, which is more than MulDiv's factor can be.
const bit<32> XCP_QUARTER_RATE = 4000000000;
const bit<64> XCP_MAX_RATE = 0xfffffffffff;  // 1/16 byte/s, 8.8 Tb/s: as much as the arithmetic has room for

struct xcp_params_t {
    bit<16> alpha_q16;
    bit<16> beta_q16;
    bit<16> gamma_q16;
    bit<30> initial_rtt_ns;
    bit<30> min_control_ns;
    bit<30> min_queue_ns;
    bit<32> quantum_ns;
}

// The same for all outputs of a switch; one default action that the controller may change. Intervals are
// whole multiples of quantum_ns, if that is not 0.
control XcpParams(out xcp_params_t params) {
    action set_xcp_params(bit<16> alpha_q16,
                          bit<16> beta_q16,
                          bit<16> gamma_q16,
                          bit<30> initial_rtt_ns,
                          bit<30> min_control_ns,
                          bit<30> min_queue_ns,
                          bit<32> quantum_ns) {
        params = { alpha_q16, beta_q16, gamma_q16, initial_rtt_ns, min_control_ns, min_queue_ns, quantum_ns };
    }

    table xcp_params {
        actions = {
            set_xcp_params;
        }
        // 0.4, 0.226 and 0.1; 50 ms, 1 ms and 2 ms as in ns-2.
        default_action = set_xcp_params(26214, 14811, 6554, 50000000, 1000000, 2000000, 0);
        size = 1;
    }

    apply {
        xcp_params.apply();
    }
}

// What an output's packets have summed up in the control interval, which begins anew.
control TakeSums(in bit<32> output, out bit<64> bytes, out bit<64> sum_x, out bit<64> low, out bit<64> high) {
    apply {
        xcp_bytes.read(bytes, output);
        xcp_sum_x.read(sum_x, output);
        xcp_sum_rtt_x_low.read(low, output);
        xcp_sum_rtt_x_high.read(high, output);
        xcp_bytes.write(output, 0);
        xcp_sum_x.write(output, 0);
        xcp_sum_rtt_x_low.write(output, 0);
        xcp_sum_rtt_x_high.write(output, 0);
    }
}

// sumRX / sumX, 1 ns at least. The sum of rtt * x is high * 2^32 + low; sum_x is not 0.
control MeanRtt(in bit<64> low, in bit<64> high, in bit<64> sum_x, out bit<64> mean_rtt_ns) {
    bit<64> sum_rtt_x;
    bit<32> scale;

    MulDiv() mul_div;

    apply {
        sum_rtt_x = high + (low >> 32);
        if (sum_rtt_x >> 32 == 0) {
            scale = 1;
            sum_rtt_x = sum_rtt_x[31:0] ++ low[31:0];
        } else {
            // What is cut off is below 2^-31 of it.
            scale = 1 << 31;
            sum_rtt_x = sum_rtt_x << 1;
        }
        mul_div.apply(sum_rtt_x, scale, sum_x, mean_rtt_ns);
        mean_rtt_ns = MAX(mean_rtt_ns, 1);
    }
}

// What an output has to give (`positive`) and to take back (`negative`) in the next interval, 1/16 byte/s: phi, by
// which the load has to change, and what is shuffled between flows beside it.
control AggregateFeedback(in xcp_params_t params,
                          in bit<64> capacity,
                          in bit<64> bytes,
                          in bit<64> elapsed_ns,
                          in bit<32> persistent_bytes,
                          in bit<64> mean_rtt_ns,
                          out bit<64> positive,
                          out bit<64> negative) {
    bit<64> input_rate;
    bit<64> queue_rate;
    bit<64> shuffled;
    int<64> phi;

    MulDiv() mul_div;

    apply {
        mul_div.apply(bytes << 2, XCP_QUARTER_RATE, elapsed_ns, input_rate);
        input_rate = MIN(input_rate, XCP_MAX_RATE);
        mul_div.apply((bit<64>)persistent_bytes << 2, XCP_QUARTER_RATE, mean_rtt_ns, queue_rate);
        queue_rate = MIN(queue_rate, XCP_MAX_RATE);

        phi = (int<64>)(bit<64>)params.alpha_q16 * ((int<64>)capacity - (int<64>)input_rate);
        phi = (phi - (int<64>)((bit<64>)params.beta_q16 * queue_rate)) >> 16;
        shuffled = ((bit<64>)params.gamma_q16 * input_rate) >> 16;
        if (phi < 0) {
            positive = shuffled |-| (bit<64>)(-phi);
            negative = MAX(shuffled, (bit<64>)(-phi));
        } else {
            positive = MAX(shuffled, (bit<64>)phi);
            negative = shuffled |-| (bit<64>)phi;
        }
    }
}

// The control interval of `output` ends.
control XcpControlTick(in xcp_params_t params,
                       in bit<32> output,
                       in bit<64> local_ns,
                       in bit<64> capacity,
                       out bit<64> next_ns) {
    bit<64> elapsed_ns;
    bit<64> bytes;
    bit<64> sum_x;
    bit<64> low;
    bit<64> high;
    bit<64> mean_rtt_ns;
    bit<32> persistent_bytes;
    bit<64> positive;
    bit<64> negative;
    bit<40> factor;

    TakeSums() take_sums;
    MeanRtt() mean_rtt;
    AggregateFeedback() aggregate_feedback;
    MakeFactor() make_factor;

    apply {
        xcp_last_tick_ns.read(elapsed_ns, output);
        xcp_last_tick_ns.write(output, local_ns);
        elapsed_ns = local_ns - elapsed_ns;
        take_sums.apply(output, bytes, sum_x, low, high);
        mean_rtt_ns = (bit<64>)params.initial_rtt_ns;
        positive = 0;
        negative = 0;
        if (elapsed_ns == 0 || elapsed_ns[63:32] != 0) {
            // The first tick, or one after a gap: the sums are of no interval.
            bytes = 0;
            sum_x = 0;
        } else {
            if (sum_x != 0) {
                mean_rtt.apply(low, high, sum_x, mean_rtt_ns);
            }
            xcp_persistent_bytes.read(persistent_bytes, output);
            aggregate_feedback.apply(params, capacity, bytes, elapsed_ns, persistent_bytes, mean_rtt_ns, positive, negative);
        }
        factor = 0;
        if (sum_x != 0) {
            make_factor.apply(positive, sum_x, factor);
        }
        xcp_positive_factor.write(output, factor);
        factor = 0;
        if (bytes != 0) {
            make_factor.apply(negative, bytes, factor);
        }
        xcp_negative_factor.write(output, factor);
        xcp_positive_residue.write(output, positive);
        xcp_negative_residue.write(output, negative);
        xcp_mean_rtt_ns.write(output, mean_rtt_ns[31:0]);
        next_ns = MAX(mean_rtt_ns, (bit<64>)params.min_control_ns);
    }
}

// The queue interval of `output` ends. The next one is half a round trip without the time that the queue takes.
control XcpQueueTick(in xcp_params_t params,
                     in bit<32> output,
                     in bit<32> least_bytes,
                     in bit<32> backlog,
                     in bit<64> capacity,
                     out bit<64> next_ns) {
    bit<32> mean_rtt_ns;
    bit<64> drain_ns;

    MulDiv() mul_div;

    apply {
        xcp_persistent_bytes.write(output, least_bytes);
        xcp_mean_rtt_ns.read(mean_rtt_ns, output);
        if (mean_rtt_ns == 0) {
            mean_rtt_ns = (bit<32>)params.initial_rtt_ns;
        }
        drain_ns = (bit<64>)mean_rtt_ns;
        if (capacity != 0) {
            mul_div.apply((bit<64>)backlog << 2, XCP_QUARTER_RATE, capacity, drain_ns);
        }
        next_ns = ((bit<64>)mean_rtt_ns |-| drain_ns) >> 1;
        next_ns = MAX(next_ns, (bit<64>)params.min_queue_ns);
    }
}

// A tick of one of the two timers of `output`, an output with a controller of `capacity` (1/16 byte/s, at most
// XCP_MAX_RATE). The timer ticks next after `next_ns`.
control XcpTick(in xcp_params_t params,
                in bit<32> output,
                in interval_tick_t tick,
                in bit<32> backlog,
                in bit<64> capacity,
                out bit<64> next_ns) {
    XcpControlTick() control_tick;
    XcpQueueTick() queue_tick;
    MulDiv() mul_div;

    apply {
        if (tick.timer == (bit<8>)IntervalTimer.CONTROL) {
            control_tick.apply(params, output, tick.local_ns, capacity, next_ns);
        } else {
            queue_tick.apply(params, output, tick.least_backlog_bytes, backlog, capacity, next_ns);
        }
        if (params.quantum_ns != 0) {
            mul_div.apply(next_ns + (bit<64>)params.quantum_ns - 1, 1, (bit<64>)params.quantum_ns, next_ns);
            next_ns = MAX(next_ns, 1) * (bit<64>)params.quantum_ns;
        }
    }
}

#endif
