// SPDX-License-Identifier: Apache-2.0
// XCP for a packet, as include/xcp_scaled.p4 has it: logarithms and powers are tables, each register is touched once a packet. What a
// control interval makes of the sums, and the shares that it leaves, is the switch's agent's (docs/tofino.md).
//
//   CheckXcp ──STANDARD──> log ──> add ──> power ──> sums, residues ──> delta_throughput
//            ──MINIMAL───> bytes
//            ──bad───────> counted, untouched
#ifndef SLOTWISE_XCP_P4
#define SLOTWISE_XCP_P4
#include "target.p4"
#include "../include/headers.p4"

#ifndef XCP_OUTPUTS
#define XCP_OUTPUTS 512
#endif

typedef bit<16> log_t;  // of a number's logarithm to the base 2, 1/256, two's complement

const log_t LOG_ONE_OCTAVE = 256;
const bit<32> MAX_RTT_NS = 1000000000;  // a longer round trip counts as this

// 64 bits: two of 32 with a carry between them. The agent takes what it read before from what it reads. Bytes are counted by
// `xcp_traffic`, with packets, of which each has some bytes more on the link.
struct sum_t {
    bit<32> low;
    bit<32> high;
}

Register<sum_t, index_t>(XCP_OUTPUTS)  xcp_sum_x;
Register<sum_t, index_t>(4 * XCP_OUTPUTS) xcp_sum_rtt_x;  // by output and unit
Register<bit<32>, index_t>(XCP_OUTPUTS) xcp_positive_residue;
Register<bit<32>, index_t>(XCP_OUTPUTS) xcp_negative_residue;

// `room` is what the lower half holds beside `amount`: its complement.
#define ADD(sum, amount, room, name) \
    RegisterAction<sum_t, index_t, bit<32>>(sum) name = { \
        void apply(inout sum_t value) { \
            if (value.low > room) { \
                value.high = value.high + 1; \
            } \
            value.low = value.low + amount; \
        } \
    };

// A share that a residue does not hold whole is not given.
#define TAKE(residue, share, name) \
    RegisterAction<bit<32>, index_t, bit<1>>(residue) name = { \
        void apply(inout bit<32> value, out bit<1> is_given) { \
            is_given = 0; \
            if (value >= share) { \
                value = value - share; \
                is_given = 1; \
            } \
        } \
    };

// 3328 entries: each leading 8 bits of a number.
control Log(in bit<32> value, out log_t log) {
    action is(log_t found) {
        log = found;
    }

    table logarithm {
        key = {
            value: lpm @name("value");
        }
        actions = {
            is;
        }
        const default_action = is(0);
        size = 4096;
    }

    apply {
        logarithm.apply();
    }
}

// 7936 entries: of logarithms from 0 up to 31 octaves.
control Power(in log_t log, out bit<32> value) {
    action is(bit<32> found) {
        value = found;
    }

    table power {
        key = {
            log: exact @name("log");
        }
        actions = {
            is;
        }
        const default_action = is(0x7fffffff);
        size = 8192;
    }

    apply {
        if (log[15:15] == 1) {
            is(0);
        } else {
            power.apply();
        }
    }
}

// A packet's length is known behind the traffic manager only: an IP packet longer than its frame is not found out here.
control CheckXcp(in xcp_t xcp, out XcpVerdict verdict) {
    bit<32> most_x = 0;
    bit<32> excess = 0;
    bit<1>  is_wrong = 0;  // packets further apart than a round trip, or not apart at all

    action quadruple() {
        most_x = xcp.rtt << 2;
    }

    action compare() {
        excess = xcp.x |-| most_x;
    }

    apply {
        quadruple();
        compare();
        if (xcp.rtt[31:30] == 0 && excess != 0) {
            is_wrong = 1;
        }
        if (xcp.x == 0) {
            is_wrong = 1;
        }
        if (xcp.rtt == 0) {
            is_wrong = 0;
        }
        verdict = XcpVerdict.STANDARD;
        if (xcp.version != XCP_VERSION) {
            verdict = XcpVerdict.BAD_VERSION;
        } else if (xcp.length != XCP_LENGTH) {
            verdict = XcpVerdict.BAD_LENGTH;
        } else if (xcp.format == XcpFormat.MINIMAL) {
            verdict = XcpVerdict.MINIMAL;
        } else if (xcp.format != XcpFormat.STANDARD) {
            verdict = XcpVerdict.BAD_FORMAT;
        } else if (is_wrong == 1) {
            verdict = XcpVerdict.BAD_FIELDS;
        }
    }
}

control XcpPacket(in index_t output, in bit<16> bytes, in XcpVerdict verdict, inout xcp_t xcp) {
    log_t   positive_factor = 0;
    log_t   negative_factor = 0;
    log_t   unit = 0;
    bit<32> rtt = 0;
    bit<32> x = 0;
    log_t   x_log = 0;
    log_t   rtt_log = 0;
    log_t   size_log = 0;
    log_t   rtt_x_log = 0;
    bit<2>  rtt_x_unit = 0;
    log_t   positive_log = 0;
    log_t   negative_log = 0;
    log_t   positive_part_log = 0;
    log_t   negative_part_log = 0;
    bit<32> rtt_x = 0;
    bit<32> positive = 0;
    bit<32> negative = 0;
    bit<32> positive_part = 0;
    bit<32> negative_part = 0;
    bit<1>  is_given = 0;
    bit<1>  is_taken = 0;
    bit<32> offered = 0;
    index_t rtt_x_at = 0;
    bit<32> x_room = 0;
    bit<32> rtt_x_room = 0;

    Log() log_of_x;
    Log() log_of_rtt;
    Counter<bit<64>, index_t>(XCP_OUTPUTS, CounterType_t.PACKETS_AND_BYTES) xcp_traffic;
    Power() rtt_times_x;
    Power() positive_share;
    Power() negative_share;
    Power() part_of_positive;
    Power() part_of_negative;

    ADD(xcp_sum_x, x, x_room, add_x)
    ADD(xcp_sum_rtt_x, rtt_x, rtt_x_room, add_rtt_x)
    TAKE(xcp_positive_residue, positive_part, give)
    TAKE(xcp_negative_residue, negative_part, take)

    // What the last interval left: logarithms of the factors, and of the unit of residues. Nothing, until the agent says it.
    action leave(log_t positive, log_t negative, log_t residue) {
        positive_factor = positive;
        negative_factor = negative;
        unit = residue;
    }

    table xcp_shares {
        key = {
            output: exact @name("queue");
        }
        actions = {
            leave;
        }
        const default_action = leave(0x8000, 0x8000, 0);
        size = XCP_OUTPUTS;
    }

    action has_size(log_t found) {
        size_log = found;
    }

    // As `Log` has it, of 16 bits.
    table size_logarithm {
        key = {
            bytes: lpm @name("value");
        }
        actions = {
            has_size;
        }
        const default_action = has_size(0);
        size = 2048;
    }

    action read() {
        rtt = min(xcp.rtt, MAX_RTT_NS);
        x = xcp.x;
        x_room = ~xcp.x;
    }

    action find_room() {
        rtt_x_room = ~rtt_x;
    }

    action add_logarithms() {
        rtt_x_log = rtt_log + x_log;
        positive_log = x_log + positive_factor;
        negative_log = size_log + negative_factor;
    }

    action scale() {
        positive_part_log = positive_log - unit;
        negative_part_log = negative_log - unit;
    }

    action upper() {
        rtt_x_log = rtt_x_log - 31 * LOG_ONE_OCTAVE;
        rtt_x_unit = 2;
    }

    action middle() {
        rtt_x_log = rtt_x_log - 20 * LOG_ONE_OCTAVE;
        rtt_x_unit = 1;
    }

    action lower() {
    }

    // By octaves of the product.
    table rtt_x_range {
        key = {
            rtt_x_log[13:8]: range @name("octave");
        }
        actions = {
            lower;
            middle;
            upper;
        }
        const entries = {
            0 .. 30: lower();
            31 .. 50: middle();
            51 .. 63: upper();
        }
        const default_action = lower();
        size = 4;
    }

    action place() {
        rtt_x_at = output << 2;
    }

    action place_unit() {
        rtt_x_at[1:0] = rtt_x_unit;
    }

    action offer() {
        offered = positive - negative;
    }

    action grant() {
        xcp.delta_throughput = (bit<32>)min((int<32>)xcp.delta_throughput, (int<32>)offered);
    }

    action grant_nothing() {
        xcp.delta_throughput = (bit<32>)min((int<32>)xcp.delta_throughput, 0);
    }

    apply {
        if (verdict == XcpVerdict.STANDARD || verdict == XcpVerdict.MINIMAL) {
            xcp_traffic.count(output);
        }
        if (verdict == XcpVerdict.STANDARD) {
            if (xcp.rtt == 0) {
                grant_nothing();
            } else {
                read();
#ifdef P4TESTGEN  // in whose tests no interval has ended: v1model has registers for what ends leave
                leave(0x8000, 0x8000, 0);
#else
                xcp_shares.apply();
#endif
                log_of_x.apply(x, x_log);
                log_of_rtt.apply(rtt, rtt_log);
                size_logarithm.apply();
                place();
                add_logarithms();
                scale();
                rtt_x_range.apply();
                place_unit();
                rtt_times_x.apply(rtt_x_log, rtt_x);
                positive_share.apply(positive_log, positive);
                negative_share.apply(negative_log, negative);
                part_of_positive.apply(positive_part_log, positive_part);
                part_of_negative.apply(negative_part_log, negative_part);
                find_room();
                add_x.execute(output);
                add_rtt_x.execute(rtt_x_at);
                is_given = give.execute(output);
                is_taken = take.execute(output);
                if (is_given == 0) {
                    positive = 0;
                }
                if (is_taken == 0) {
                    negative = 0;
                }
                offer();
                grant();
            }
        }
    }
}

#endif
