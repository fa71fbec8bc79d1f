// SPDX-License-Identifier: Apache-2.0
// What XCP's agent of an output does for probes. Rates are paced at the edges, so an agent hears of a macroflow by its probes: one of
// them stands for one packet in XCP's sums, and what there is to give and to take back is XcpTick's. What is shuffled is given to, and taken
// from, those who are not satisfied.
//
//   interval tick ──> AgentBegin ──> XcpTick ──> AgentEnd
//   probe ──> AgentProbe ──> least feedback so far
#ifndef SLOTWISE_AGENT_P4
#define SLOTWISE_AGENT_P4
#include "quotient.p4"
#include "xcp.p4"
#include "xcp_interval.p4"

// By output. What the satisfied have sent in this interval, as they say; of the last interval, what a byte has to give back of what is
// shuffled, if its macroflow is not satisfied, and of what is too much, in (1/16 byte/s) / byte.
register<bit<64>>(MAX_QUEUES)  spared_bytes;
register<factor_t>(MAX_QUEUES) shuffle_factor;
register<factor_t>(MAX_QUEUES) overload_factor;

// What is given beside what is taken is shuffled; the rest of what is taken is too much.
#define READ_SHUFFLED(output) \
    xcp_positive_residue.read(positive, output); \
    xcp_negative_residue.read(negative, output); \
    shuffled = negative; \
    AT_MOST(shuffled, positive) \
    overload = negative - shuffled;

// Before XcpTick ends the control interval of `output`: what has come in it, and how much of that is of the satisfied.
control AgentBegin(in index_t output, out bit<64> bytes, out bit<64> spared) {
    @hidden action take_bytes() {
        xcp_bytes.read(bytes, output);
        spared_bytes.read(spared, output);
        spared_bytes.write(output, 0);
    }

    apply {
        take_bytes();
    }
}

// After it: the factors for the probes of the next one.
control AgentEnd(in index_t output, in bit<64> bytes, in bit<64> spared) {
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

    @hidden action leave_factors() {
        READ_SHUFFLED(output)
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
        shuffle_factor.write(output, first);
        overload_factor.write(output, factor);
    }

    apply {
        leave_factors();
    }
}

control AgentProbe(in index_t output, in bit<30> initial_rtt_ns, inout probe_t probe) {
    bit<64>  sum;
    bit<64>  shuffled;
    bit<64>  overload;
    factor_t factor;
    bit<64>  positive;
    bit<64>  negative;
    bit<64>  share;
    bit<64>  asked;    // feedback + 2^31
    bit<64>  offered;

    // Of the interval to come. All macroflows' round trips count as one period, so that the persistent queue is to be gone in one.
    @hidden action count_probe() {
        if ((probe.flags & PROBE_SATISFIED) == 0) {
            xcp_sum_x.read(sum, output);
            xcp_sum_x.write(output, sum + 1);
            xcp_sum_rtt_x_low.read(sum, output);
            xcp_sum_rtt_x_low.write(output, sum + (bit<64>)initial_rtt_ns);
        } else {
            spared_bytes.read(sum, output);
            spared_bytes.write(output, sum + (bit<64>)probe.sent_bytes);
        }
    }

    // An equal part of what there is to give, less a part of what is to be taken back by what the macroflow has sent. With 2^35 added
    // (2^31 byte/s) nothing is negative.
    @hidden action write_feedback() {
        READ_SHUFFLED(output)
        overload_factor.read(factor, output);
        take_share(factor, probe.sent_bytes, overload, negative);
        offered = 0x800000000;
        if ((probe.flags & PROBE_SATISFIED) == 0) {
            xcp_positive_factor.read(factor, output);
            take_share(factor, 1, positive, share);
            offered = offered + share;
            shuffle_factor.read(factor, output);
            take_share(factor, probe.sent_bytes, shuffled, share);
            negative = negative + share;
        }
        offered = (offered |-| negative) >> 4;
        asked = (bit<64>)(probe.feedback ^ 0x80000000);
        AT_MOST(asked, offered)
        probe.feedback = asked[31:0] ^ 0x80000000;
    }

    apply {
        count_probe();
        write_feedback();
    }
}

#endif
