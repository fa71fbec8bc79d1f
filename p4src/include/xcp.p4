// SPDX-License-Identifier: Apache-2.0
// XCP for one packet: what its header says is checked, counted, and answered with feedback; and what an interval
// tick takes and leaves. What the control interval makes of the sums is in xcp_interval.p4. docs/architecture.md has the formulas.
//
//   CheckXcp ──STANDARD──> sums ──> feedback ──> delta_throughput
//            ──MINIMAL───> bytes
//            ──bad───────> counted, untouched
//
// xcp_scaled.p4 stands for this file where nothing multiplies.
#ifndef SLOTWISE_XCP_P4
#define SLOTWISE_XCP_P4
#include "quotient.p4"
#include "xcp_check.p4"

// Sums of the control interval, by output. That of rtt * x is kept in halves: neither overflows.
register<bit<64>>(MAX_QUEUES) xcp_bytes;
register<bit<64>>(MAX_QUEUES) xcp_sum_x;           // 1/4 ns
register<bit<64>>(MAX_QUEUES) xcp_sum_rtt_x_low;   // of the lower 32 bits of each product, 1/4 ns^2
register<bit<64>>(MAX_QUEUES) xcp_sum_rtt_x_high;  // of the others

// What the last interval left for the packets of this one. A factor is a mantissa of 32 bits and how far
// its products are shifted right. The residues are rates, 1/16 byte/s.
register<bit<40>>(MAX_QUEUES) xcp_positive_factor;  // Cp, (1/16 byte/s) / (1/4 ns)
register<bit<40>>(MAX_QUEUES) xcp_negative_factor;  // Cn, (1/16 byte/s) / byte
register<bit<64>>(MAX_QUEUES) xcp_positive_residue;
register<bit<64>>(MAX_QUEUES) xcp_negative_residue;


// A packet for `output`, an output with a controller, that takes `size` bytes of its fibre or link. It is granted the
// smaller of what the sender still asks for and what this output has for it.
control XcpPacket(in bit<32> output, in bit<32> size, in XcpVerdict verdict, inout xcp_t xcp) {
    bit<64> sum;
    bit<64> product;
    bit<40> factor;
    bit<64> positive_residue;
    bit<64> negative_residue;
    bit<64> positive;
    bit<64> negative;
    bit<64> asked;    // delta_throughput + 2^31
    bit<64> offered;  // `positive` + 2^31

    @hidden action count_bytes() {
        xcp_bytes.read(sum, output);
        xcp_bytes.write(output, sum + (bit<64>)size);
    }

    @hidden action grant_nothing() {
        if ((int<32>)xcp.delta_throughput > 0) {
            xcp.delta_throughput = 0;
        }
    }

    @hidden action write_feedback() {
        xcp_sum_x.read(sum, output);
        xcp_sum_x.write(output, sum + (bit<64>)xcp.x);
        product = (bit<64>)MIN(xcp.rtt, XCP_MAX_RTT_NS) * (bit<64>)xcp.x;
        xcp_sum_rtt_x_low.read(sum, output);
        xcp_sum_rtt_x_low.write(output, sum + (bit<64>)product[31:0]);
        xcp_sum_rtt_x_high.read(sum, output);
        xcp_sum_rtt_x_high.write(output, sum + (bit<64>)product[63:32]);

        xcp_positive_factor.read(factor, output);
        xcp_positive_residue.read(positive_residue, output);
        take_share(factor, xcp.x, positive_residue, positive);
        xcp_negative_factor.read(factor, output);
        xcp_negative_residue.read(negative_residue, output);
        take_share(factor, size, negative_residue, negative);

        // With 2^31 added nothing is negative. The residues are rates: sums have 46 bits at most.
        asked = (bit<64>)(xcp.delta_throughput ^ 0x80000000);
        offered = positive + 0x80000000;
        if (asked + negative >= offered) {
            // Below the field's range is its smallest value; above it delta would be smaller.
            xcp.delta_throughput = 0x80000000;
            if (offered > negative) {
                xcp.delta_throughput = positive[31:0] - negative[31:0];
            }
        } else {
            // A router before this one gave less: the rest of the positive feedback is left for others, as is
            // as much negative feedback.
            negative = offered - asked;
            AT_MOST(negative, negative_residue)
            positive = asked + negative - 0x80000000;
        }
        xcp_positive_residue.write(output, positive_residue - positive);
        xcp_negative_residue.write(output, negative_residue - negative);
    }

    apply {
        if (verdict == XcpVerdict.STANDARD || verdict == XcpVerdict.MINIMAL) {
            count_bytes();
        }
        if (verdict == XcpVerdict.STANDARD) {
            if (xcp.rtt == 0) {
                grant_nothing();
            } else {
                write_feedback();
            }
        }
    }
}

// What the packets of an output have summed up, which begins anew. The sum of rtt * x is high * 2^32 + low.
action take_xcp_sums(in bit<32> output, out bit<64> bytes, out bit<64> sum_x, out bit<64> low, out bit<64> high) {
    xcp_bytes.read(bytes, output);
    xcp_sum_x.read(sum_x, output);
    xcp_sum_rtt_x_low.read(low, output);
    xcp_sum_rtt_x_high.read(high, output);
    xcp_bytes.write(output, 0);
    xcp_sum_x.write(output, 0);
    xcp_sum_rtt_x_low.write(output, 0);
    xcp_sum_rtt_x_high.write(output, 0);
}

// What the packets of the next interval find: what an output has to give and to take back, and the factors that make shares of it.
action leave_xcp_shares(in bit<32> output,
                        in bit<64> positive,
                        in bit<64> negative,
                        in bit<40> positive_factor,
                        in bit<40> negative_factor) {
    xcp_positive_factor.write(output, positive_factor);
    xcp_negative_factor.write(output, negative_factor);
    xcp_positive_residue.write(output, positive);
    xcp_negative_residue.write(output, negative);
}

#endif
