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

// What is divided in a tick, in this order: all but the queue when the control interval ends, the last two when the queue
// interval ends.
const bit<8> DIVIDE_MEAN_RTT   = 0;  // sumRX / sumX
const bit<8> DIVIDE_INPUT_RATE = 1;
const bit<8> DIVIDE_QUEUE_RATE = 2;
const bit<8> DIVIDE_POSITIVE   = 3;
const bit<8> DIVIDE_NEGATIVE   = 4;
const bit<8> DIVIDE_QUEUE      = 5;  // the time that it takes
const bit<8> DIVIDE_QUANTA     = 6;

// A tick of one of the two timers of `output`, an output with a controller of `capacity` (1/16 byte/s, at most
// XCP_MAX_RATE). The timer ticks next after `next_ns`.
control XcpTick(in xcp_params_t params,
                in index_t output,
                in interval_tick_t tick,
                in bit<32> backlog,
                in throughput_t capacity,
                out time_ns_t next_ns) {
    bool         control_ends;
    bool         is_interval;  // of which the sums are
    time_ns_t    elapsed_ns;
    bit<64>      bytes;
    bit<64>      sum_x;
    bit<64>      low;          // the sum of rtt * x is high * 2^32 + low
    bit<64>      high;
    bit<32>      scale;
    bit<32>      mean_rtt_bits;
    time_ns_t    mean_rtt_ns;
    bit<32>      persistent_bytes;
    time_ns_t    drain_ns;
    throughput_t input_rate;
    throughput_t queue_rate;
    bit<64>      shuffled;
    bit<64>      wanted_rate;
    bit<64>      used_rate;
    bit<64>      change;
    throughput_t positive;
    throughput_t negative;
    factor_t     positive_factor;
    factor_t     negative_factor;

    bit<8>   first;
    bit<8>   division;
    bool     wanted;
    bit<64>  a;
    bit<32>  b;
    bit<64>  c;
    bit<64>  value;
    factor_t factor;

    // What an output's packets have summed up in the control interval, which begins anew.
    action take_sums() {
        xcp_last_tick_ns.read(elapsed_ns, output);
        xcp_last_tick_ns.write(output, tick.local_ns);
        elapsed_ns = tick.local_ns - elapsed_ns;
        take_xcp_sums(output, bytes, sum_x, low, high);
        xcp_persistent_bytes.read(persistent_bytes, output);
        mean_rtt_ns = (time_ns_t)params.initial_rtt_ns;
        is_interval = elapsed_ns != 0 && elapsed_ns[63:32] == 0;
        if (!is_interval) {
            // The first tick, or one after a gap.
            bytes = 0;
            sum_x = 0;
        }
        high = high + (low >> 32);
        low = high[31:0] ++ low[31:0];
        if (high >> 32 != 0) {
            // What is cut off is below 2^-31 of it.
            scale = 1 << 31;
            low = high << 1;
        }
    }

    // The queue interval of `output` ends. The next one is half a round trip without the time that the queue takes.
    action note_queue() {
        xcp_persistent_bytes.write(output, tick.least_backlog_bytes);
        xcp_mean_rtt_ns.read(mean_rtt_bits, output);
        if (mean_rtt_bits == 0) {
            mean_rtt_bits = (bit<32>)params.initial_rtt_ns;
        }
        mean_rtt_ns = (time_ns_t)mean_rtt_bits;
    }

    // What an output has to give (`positive`) and to take back (`negative`) in the next interval, 1/16 byte/s: by how much
    // the load has to change (phi is `change`, less if `wanted_rate` is below `used_rate`), and what is shuffled between
    // flows beside it. The products have 60 bits at most.
    action aggregate_feedback() {
        wanted_rate = (bit<64>)params.alpha_q16 * capacity;
        used_rate = (bit<64>)params.alpha_q16 * input_rate + (bit<64>)params.beta_q16 * queue_rate;
        shuffled = (bit<64>)params.gamma_q16 * input_rate;
        shuffled = shuffled >> 16;
        change = wanted_rate |-| used_rate;
        negative = shuffled;
        positive = shuffled;
        if (wanted_rate < used_rate) {
            change = used_rate - wanted_rate + 0xffff;  // phi is rounded down
        }
        change = change >> 16;
        if (wanted_rate < used_rate) {
            positive = positive |-| change;
            AT_LEAST(negative, change)
        } else {
            negative = negative |-| change;
            AT_LEAST(positive, change)
        }
    }

    // What the packets of the next control interval find.
    action leave_feedback() {
        leave_xcp_shares(output, positive, negative, positive_factor, negative_factor);
        xcp_mean_rtt_ns.write(output, mean_rtt_ns[31:0]);
    }

    @hidden action answer_tick() {
        is_interval = false;
        elapsed_ns = 0;
        bytes = 0;
        sum_x = 0;
        low = 0;
        scale = 1;
        persistent_bytes = 0;
        input_rate = 0;
        positive = 0;
        negative = 0;
        positive_factor = 0;
        negative_factor = 0;
        next_ns = 0;
        control_ends = tick.timer == IntervalTimer.CONTROL;
        first = DIVIDE_QUEUE;
        if (control_ends) {
            first = DIVIDE_MEAN_RTT;
            take_sums();
        } else {
            note_queue();
        }
        drain_ns = mean_rtt_ns;
        for (division = first; division <= DIVIDE_QUANTA; division = division + 1) {
            b = XCP_QUARTER_RATE;
            if (division == DIVIDE_MEAN_RTT) {
                wanted = sum_x != 0;
                a = low;
                b = scale;
                c = sum_x;
            } else if (division == DIVIDE_INPUT_RATE) {
                wanted = is_interval;
                a = bytes << 2;
                c = elapsed_ns;
            } else if (division == DIVIDE_QUEUE_RATE) {
                wanted = is_interval;
                a = (bit<64>)persistent_bytes << 2;
                c = mean_rtt_ns;
            } else if (division == DIVIDE_POSITIVE) {
                wanted = sum_x != 0;
                a = positive;
                c = sum_x;
            } else if (division == DIVIDE_NEGATIVE) {
                wanted = bytes != 0;
                a = negative;
                c = bytes;
            } else if (division == DIVIDE_QUEUE) {
                wanted = !control_ends && capacity != 0;
                a = (bit<64>)backlog << 2;
                c = capacity;
            } else {
                if (control_ends) {
                    next_ns = mean_rtt_ns;
                    AT_LEAST(next_ns, (bit<64>)params.min_control_ns)
                } else {
                    next_ns = (mean_rtt_ns |-| drain_ns) >> 1;
                    AT_LEAST(next_ns, (bit<64>)params.min_queue_ns)
                }
                wanted = params.quantum_ns != 0;
                a = next_ns + (bit<64>)params.quantum_ns - 1;
                b = 1;
                c = (bit<64>)params.quantum_ns;
            }
            if (wanted) {
                divide(a, b, c, value, factor);
                if (division == DIVIDE_MEAN_RTT) {
                    mean_rtt_ns = value;
                    AT_LEAST(mean_rtt_ns, 1)
                } else if (division == DIVIDE_INPUT_RATE) {
                    input_rate = value;
                    AT_MOST(input_rate, XCP_MAX_RATE)
                } else if (division == DIVIDE_QUEUE_RATE) {
                    queue_rate = value;
                    AT_MOST(queue_rate, XCP_MAX_RATE)
                    aggregate_feedback();
                } else if (division == DIVIDE_POSITIVE) {
                    positive_factor = factor;
                } else if (division == DIVIDE_NEGATIVE) {
                    negative_factor = factor;
                } else if (division == DIVIDE_QUEUE) {
                    drain_ns = value;
                } else {
                    AT_LEAST(value, 1)
                    next_ns = value * (bit<64>)params.quantum_ns;
                }
            }
        }
        if (control_ends) {
            leave_feedback();
        }
    }

    apply {
        answer_tick();
    }
}

#endif
