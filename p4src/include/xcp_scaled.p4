// SPDX-License-Identifier: Apache-2.0
// Stands for xcp.p4 where nothing multiplies: what a stateful ALU of 32 bits, tables of logarithms and one touch of a register a
// packet can do. A program that includes it first has it in place of xcp.p4.
//
//   sums      bytes and x as they are (a pair of 32 bits with a carry); rtt * x by logarithms, in three units
//   shares    of what an output has to give and to take back: logarithm of x, or of the size, plus that of the factor
//   residues  32 bits, in units of 2^k; a share that they do not hold whole is not given
//
// A packet that asks for less than its share uses the share up, while xcp.p4 leaves the rest for others: the residue would have
// to be read before it is known what to take of it.
#ifndef SLOTWISE_XCP_P4
#define SLOTWISE_XCP_P4
#include "logarithm.p4"
#include "quotient.p4"
#include "xcp_check.p4"

register<bit<64>>(MAX_QUEUES) xcp_bytes;
register<bit<64>>(MAX_QUEUES) xcp_sum_x;          // 1/4 ns
register<bit<64>>(4 * MAX_QUEUES) xcp_sum_rtt_x;  // by output and unit: 1, 2^20, 2^31 times 1/4 ns^2

// What the last interval left for the packets of this one: logarithms of factors, and residues, by their units of 2^k/16 byte/s.
register<log_t>(MAX_QUEUES)   xcp_positive_log;
register<log_t>(MAX_QUEUES)   xcp_negative_log;
register<bit<32>>(MAX_QUEUES) xcp_positive_residue;
register<bit<32>>(MAX_QUEUES) xcp_negative_residue;
register<log_t>(MAX_QUEUES)   xcp_residue_log;  // k

// Where units of the sum of rtt * x begin: a product has 2^11 to 2^31 of its unit.
const bit<8> RTT_X_MIDDLE = 20;
const bit<8> RTT_X_UPPER  = 31;

// A packet for `output`, an output with a controller, that takes `size` bytes of its fibre or link. It is granted the
// smaller of what the sender asks for and what this output has for it.
control XcpPacket(in bit<32> output, in bit<32> size, in XcpVerdict verdict, inout xcp_t xcp) {
    bit<64> sum;
    bit<32> residue;
    log_t   factor;
    log_t   unit;
    log_t   rtt_x_log;
    bit<32> rtt_x;
    bit<32> rtt_x_at;
    bit<32> rtt;
    log_t   x_log;
    log_t   rtt_log;
    log_t   size_log;
    log_t   positive_log;
    log_t   negative_log;
    log_t   positive_part_log;
    log_t   negative_part_log;
    bit<32> positive;       // 1/16 byte/s
    bit<32> negative;
    bit<32> positive_part;  // of the residue
    bit<32> negative_part;
    bit<32> offered;

    Log() log_of_x;
    Log() log_of_rtt;
    Log() log_of_size;
    Power() rtt_times_x;
    Power() positive_share;
    Power() negative_share;
    Power() part_of_positive;
    Power() part_of_negative;

    @hidden action count_bytes() {
        xcp_bytes.read(sum, output);
        xcp_bytes.write(output, sum + (bit<64>)size);
    }

    @hidden action grant_nothing() {
        if ((int<32>)xcp.delta_throughput > 0) {
            xcp.delta_throughput = 0;
        }
    }

    @hidden action add_logarithms() {
        rtt_x_log = rtt_log + x_log;
        rtt_x_at = output << 2;
        if (rtt_x_log >= 51 * LOG_ONE_OCTAVE) {
            rtt_x_log = rtt_x_log - (log_t)RTT_X_UPPER * LOG_ONE_OCTAVE;
            rtt_x_at = rtt_x_at + 2;
        } else if (rtt_x_log >= 31 * LOG_ONE_OCTAVE) {
            rtt_x_log = rtt_x_log - (log_t)RTT_X_MIDDLE * LOG_ONE_OCTAVE;
            rtt_x_at = rtt_x_at + 1;
        }
        xcp_residue_log.read(unit, output);
        unit = unit << 8;
        xcp_positive_log.read(factor, output);
        positive_log = x_log + factor;
        positive_part_log = positive_log - unit;
        xcp_negative_log.read(factor, output);
        negative_log = size_log + factor;
        negative_part_log = negative_log - unit;
    }

    @hidden action add_sums() {
        xcp_sum_x.read(sum, output);
        xcp_sum_x.write(output, sum + (bit<64>)xcp.x);
        xcp_sum_rtt_x.read(sum, rtt_x_at);
        xcp_sum_rtt_x.write(rtt_x_at, sum + (bit<64>)rtt_x);
    }

    @hidden action write_feedback() {
        xcp_positive_residue.read(residue, output);
        if (residue < positive_part) {
            positive = 0;
        } else {
            xcp_positive_residue.write(output, residue - positive_part);
        }
        xcp_negative_residue.read(residue, output);
        if (residue < negative_part) {
            negative = 0;
        } else {
            xcp_negative_residue.write(output, residue - negative_part);
        }
        offered = positive - negative;
        if ((int<32>)offered < (int<32>)xcp.delta_throughput) {
            xcp.delta_throughput = offered;
        }
    }

    apply {
        if (verdict == XcpVerdict.STANDARD || verdict == XcpVerdict.MINIMAL) {
            count_bytes();
        }
        if (verdict == XcpVerdict.STANDARD) {
            if (xcp.rtt == 0) {
                grant_nothing();
            } else {
                rtt = MIN(xcp.rtt, XCP_MAX_RTT_NS);
                log_of_x.apply(xcp.x, x_log);
                log_of_rtt.apply(rtt, rtt_log);
                log_of_size.apply(size, size_log);
                add_logarithms();
                rtt_times_x.apply(rtt_x_log, rtt_x);
                positive_share.apply(positive_log, positive);
                negative_share.apply(negative_log, negative);
                part_of_positive.apply(positive_part_log, positive_part);
                part_of_negative.apply(negative_part_log, negative_part);
                add_sums();
                write_feedback();
            }
        }
    }
}

// What the packets of an output have summed up, which begins anew. The sum of rtt * x is high * 2^32 + low.
action take_xcp_sums(in bit<32> output, out bit<64> bytes, out bit<64> sum_x, out bit<64> low, out bit<64> high) {
    bit<64> middle;
    bit<64> upper;

    xcp_bytes.read(bytes, output);
    xcp_sum_x.read(sum_x, output);
    xcp_sum_rtt_x.read(low, output << 2);
    xcp_sum_rtt_x.read(middle, (output << 2) + 1);
    xcp_sum_rtt_x.read(upper, (output << 2) + 2);
    high = (middle >> (32 - RTT_X_MIDDLE)) + (upper >> (32 - RTT_X_UPPER));
    low = low + ((middle << RTT_X_MIDDLE) & 0xffffffff) + ((upper << RTT_X_UPPER) & 0xffffffff);
    high = high + (low >> 32);
    low = low & 0xffffffff;
    xcp_bytes.write(output, 0);
    xcp_sum_x.write(output, 0);
    xcp_sum_rtt_x.write(output << 2, 0);
    xcp_sum_rtt_x.write((output << 2) + 1, 0);
    xcp_sum_rtt_x.write((output << 2) + 2, 0);
}

// The logarithm of a factor, to the nearest 1/256.
action log_of_factor(in bit<40> factor, out log_t log) {
    bit<64> mantissa = (bit<64>)factor[39:8];  // 0 or in [2^30, 2^32)
    log_t octave = 31 - (log_t)factor[7:0];

    if (mantissa >> 31 == 0) {
        octave = octave - 1;
    } else {
        mantissa = mantissa >> 1;
    }
    find_fraction(mantissa, log);
    log = log + (octave << 8);
    if (factor[39:8] == 0) {
        log = LOG_OF_NOTHING;
    }
}

// What the packets of the next interval find: what an output has to give and to take back, and the factors that make shares of it.
action leave_xcp_shares(in bit<32> output,
                        in bit<64> positive,
                        in bit<64> negative,
                        in bit<40> positive_factor,
                        in bit<40> negative_factor) {
    log_t   log;
    bit<64> most = positive | negative;
    bit<16> unit = 0;

    // The residues have as many bits as the larger one needs.
    for (bit<8> half = 16; half != 0; half = half >> 1) {
        if (most >> (31 + half) != 0) {
            most = most >> half;
            unit = unit + (bit<16>)half;
        }
    }
    if (most >> 32 != 0) {
        unit = unit + 1;
    }
    log_of_factor(positive_factor, log);
    xcp_positive_log.write(output, log);
    log_of_factor(negative_factor, log);
    xcp_negative_log.write(output, log);
    xcp_residue_log.write(output, unit);
    xcp_positive_residue.write(output, (positive >> (bit<8>)unit)[31:0]);
    xcp_negative_residue.write(output, (negative >> (bit<8>)unit)[31:0]);
}

#endif
