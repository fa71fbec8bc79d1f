// SPDX-License-Identifier: Apache-2.0
// Division for a target that has none: numbers become a mantissa of 32 bits and an exponent, and a quotient is a
// product with a reciprocal. A target with another way (tables of logarithms, say) replaces the controls of this
// file. There is no table of reciprocals because v1model may apply a table once only, and XCP divides six times
// a tick.
//
//   a ──> Normalize ────────────────┐
//   c ──> Normalize ──> Reciprocal ──┴──> Quotient ──> MulDiv, or MakeFactor for Share
#ifndef SLOTWISE_QUOTIENT_P4
#define SLOTWISE_QUOTIENT_P4
#include "constants.p4"

// By saturating subtraction; p4c would make an `if` and an action of each a < b ? a : b.
#define MIN(a, b) ((a) - ((a) |-| (b)))
#define MAX(a, b) ((b) + ((a) |-| (b)))

// 2^log2 if the highest 2^log2 bits of `value` are zero, else 0.
#define LEADING_ZEROS(value, log2) (((bit<8>)(bit<1>)(value >> (64 - (1 << log2)) == 0)) << log2)

#define NORMALIZE_STEP(log2) \
    zeros = zeros + LEADING_ZEROS(value, log2); \
    value = value << LEADING_ZEROS(value, log2)

// Shifts `value` left by its leading zeros; 0 stays 0, with 63. The first step is an `if` because p4c would put
// expressions into expressions without end.
control Normalize(inout bit<64> value, out bit<8> zeros) {
    apply {
        zeros = 0;
        if (value >> 32 == 0) {
            zeros = 32;
            value = value << 32;
        }
        NORMALIZE_STEP(4);
        NORMALIZE_STEP(3);
        NORMALIZE_STEP(2);
        NORMALIZE_STEP(1);
        NORMALIZE_STEP(0);
    }
}

// 2^63 / divisor for a divisor in [2^31, 2^32): for each half of the range the best straight line, 1/49 off at
// most, then three steps of Newton's method, each of which squares the error. The reciprocal is in [2^31, 2^32],
// 2^-30 off at most.
control Reciprocal(in bit<64> divisor, out bit<64> reciprocal) {
    apply {
        if (divisor < 0xc0000000) {
            reciprocal = 7012191504 - ((divisor * 5609753203) >> 32);
        } else {
            reciprocal = 4959137496 - ((divisor * 2833792855) >> 32);
        }
        reciprocal = (reciprocal * ((64w1 << 32) - ((divisor * reciprocal) >> 32))) >> 31;
        reciprocal = (reciprocal * ((64w1 << 32) - ((divisor * reciprocal) >> 32))) >> 31;
        reciprocal = (reciprocal * ((64w1 << 32) - ((divisor * reciprocal) >> 32))) >> 31;
    }
}

// a / c = fraction / 2^shift, 2^-28 off at most. `fraction` is 0 or in [2^62, 2^64). c is not 0.
control Quotient(in bit<64> a, in bit<64> c, out bit<64> fraction, out bit<8> shift) {
    bit<64> dividend;
    bit<64> divisor;
    bit<8>  dividend_zeros;
    bit<8>  divisor_zeros;

    Normalize() normalize;
    Reciprocal() reciprocal;

    apply {
        dividend = a;
        divisor = c;
        normalize.apply(dividend, dividend_zeros);
        normalize.apply(divisor, divisor_zeros);
        reciprocal.apply(divisor >> 32, fraction);
        fraction = fraction * (dividend >> 32);
        shift = dividend_zeros - divisor_zeros + 63;
    }
}

// a * b / c, rounded down; all ones if a / c is 2^31 or more.
control MulDiv(in bit<64> a, in bit<32> b, in bit<64> c, out bit<64> value) {
    bit<64> fraction;
    bit<8>  shift;

    Quotient() quotient;

    apply {
        quotient.apply(a, c, fraction, shift);
        value = (fraction >> 32) * (bit<64>)b;
        if (shift >= 32) {
            value = value >> (shift - 32);
        } else if (value != 0) {
            value = 0xffffffffffffffff;
        }
    }
}

// a / c as a factor for Share: a mantissa of 32 bits, and how far a product is shifted right. The largest one
// if a / c is 2^31 or more.
control MakeFactor(in bit<64> a, in bit<64> c, out bit<40> factor) {
    bit<64> fraction;
    bit<8>  shift;

    Quotient() quotient;

    apply {
        quotient.apply(a, c, fraction, shift);
        factor = 0xffffffff00;
        if (shift >= 32) {
            factor = fraction[63:32] ++ (shift - 32);
        } else if (fraction == 0) {
            factor = 0;
        }
    }
}

// Product of a factor and a number of 32 bits, rounded down, at most `limit`.
control Share(in bit<40> factor, in bit<32> weight, in bit<64> limit, out bit<64> share) {
    apply {
        share = ((bit<64>)factor[39:8] * (bit<64>)weight) >> factor[7:0];
        share = MIN(share, limit);
    }
}

#endif
