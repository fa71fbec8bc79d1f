// SPDX-License-Identifier: Apache-2.0
// Products and quotients for a target that cannot multiply: sums and differences of logarithms. What these two say is what a table
// of as many entries would: each leading 8 bits of a number have one logarithm (25 * 128 + 128 prefixes), each logarithm one power (32 * 256).
// Here they are calculated, so that v1model needs no such tables. A product of two numbers is 1.1 % off at most.
#ifndef SLOTWISE_LOGARITHM_P4
#define SLOTWISE_LOGARITHM_P4

typedef bit<16> log_t;  // of a number's logarithm to the base 2, 1/256, two's complement

const log_t LOG_ONE_OCTAVE = 256;
const log_t LOG_OF_NOTHING = 0x8000;

// The logarithm of a mantissa in [2^30, 2^31), as one of 2^0 to 2^1, by repeated squaring: the fraction of a logarithm, or 256.
action find_fraction(in bit<64> of, out log_t fraction) {
    bit<64> mantissa = of;

    fraction = 0;
    // A bit more than there is room for, to round by.
    for (bit<8> step = 0; step < 9; step = step + 1) {
        mantissa = (mantissa * mantissa) >> 30;
        fraction = fraction << 1;
        if (mantissa >> 31 != 0) {
            mantissa = mantissa >> 1;
            fraction = fraction + 1;
        }
    }
    fraction = (fraction + 1) >> 1;
}

// Multiplies a mantissa by 2^(1/2), 2^(1/4) .. 2^(1/256), which are in 2^-31.
#define RAISE(bit_, root) \
    if (log[bit_:bit_] == 1) { \
        mantissa = (mantissa * root + 0x40000000) >> 31; \
    }

// Of the middle of all numbers with the same leading 8 bits. The logarithm of 0 is that of 1.
control Log(in bit<32> value, out log_t log) {
    bit<64> mantissa;
    log_t   octave;
    bit<8>  half;

    @hidden action find() {
        mantissa = (bit<64>)value;
        octave = 31;
        for (half = 16; half != 0; half = half >> 1) {
            if (mantissa >> (32 - half) == 0) {
                mantissa = mantissa << half;
                octave = octave - (log_t)half;
            }
        }
        find_fraction(((mantissa >> 24 << 1) + 1) << 22, log);
        log = log + (octave << 8);
    }

    apply {
        find();
    }
}

// 2^log, rounded: 0 below 1, and at most 2^31 - 1.
control Power(in log_t log, out bit<32> value) {
    bit<64> mantissa;
    bit<8>  shift;

    @hidden action find() {
        value = 0;
        if (log[15:15] == 0) {
            value = 0x7fffffff;
            if (log < 31 * LOG_ONE_OCTAVE) {
                mantissa = 64w1 << 31;
                RAISE(7, 3037000500)
                RAISE(6, 2553802834)
                RAISE(5, 2341847524)
                RAISE(4, 2242560872)
                RAISE(3, 2194507417)
                RAISE(2, 2170868212)
                RAISE(1, 2159144272)
                RAISE(0, 2153306067)
                shift = 31 - log[15:8];
                value = (bit<32>)((mantissa + (64w1 << (shift - 1))) >> shift);
            }
        }
    }

    apply {
        find();
    }
}

#endif
