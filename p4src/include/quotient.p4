// SPDX-License-Identifier: Apache-2.0
// Division for a target that has none: numbers become a mantissa of 32 bits and an exponent, and a quotient is a
// product with a reciprocal. A target with another way (tables of logarithms, say) replaces what is in this file. There
// is no table of reciprocals because v1model may apply a table once only, and XCP divides six times a tick; an action
// is copied to wherever it is called, so all of them are made by one call, in a loop.
//
//   a ──> normalize ────────────────┐
//   c ──> normalize ──> reciprocal ──┴──> quotient ──> product, or factor for Share
#ifndef SLOTWISE_QUOTIENT_P4
#define SLOTWISE_QUOTIENT_P4
#include "constants.p4"

// By saturating subtraction; p4c would make an `if` and an action of each a < b ? a : b.
#define MIN(a, b) ((a) - ((a) |-| (b)))

// What p4c knows of a variable it puts wherever that is used, and such expressions grow; these leave it guessing.
#define AT_MOST(value, limit)  if ((value) > (limit)) { value = limit; }
#define AT_LEAST(value, limit) if ((value) < (limit)) { value = limit; }

// 2^63 / divisor for a divisor in [2^31, 2^32): for each half of the range the best straight line, 1/49 off at
// most, then three steps of Newton's method, each of which squares the error. The reciprocal is in [2^31, 2^32],
// 2^-30 off at most.
action make_reciprocal(in bit<64> divisor, out bit<64> reciprocal) {
    reciprocal = 4959137496 - ((divisor * 2833792855) >> 32);
    if (divisor < 0xc0000000) {
        reciprocal = 7012191504 - ((divisor * 5609753203) >> 32);
    }
    for (bit<8> step = 0; step < 3; step = step + 1) {
        reciprocal = (reciprocal * ((64w1 << 32) - ((divisor * reciprocal) >> 32))) >> 31;
    }
}

// a / c, 2^-28 off at most, in two forms. `product` is a * b / c, rounded down; all ones if a / c is 2^31 or more.
// `factor` is a / c for take_share: a mantissa of 32 bits, and how far a product is shifted right; the largest one if
// a / c is 2^31 or more. c is not 0.
action divide(in bit<64> a, in bit<32> b, in bit<64> c, out bit<64> product, out bit<40> factor) {
    bit<64> dividend = a;
    bit<64> divisor = c;
    bit<64> fraction;    // 0 or in [2^62, 2^64)
    bit<8>  shift = 31;  // a / c is fraction / 2^(shift + 32)
    bit<8>  half;

    // Both are shifted left by their leading zeros; 0 stays 0, with 63.
    for (half = 32; half != 0; half = half >> 1) {
        if (dividend >> (64 - half) == 0) {
            dividend = dividend << half;
            shift = shift + half;
        }
        if (divisor >> (64 - half) == 0) {
            divisor = divisor << half;
            shift = shift - half;
        }
    }
    divisor = divisor >> 32;
    make_reciprocal(divisor, fraction);
    fraction = fraction * (dividend >> 32);

    product = (fraction >> 32) * (bit<64>)b;
    if (shift < 128) {
        product = product >> shift;
        factor = fraction[63:32] ++ shift;
    } else {
        factor = 0;
        if (fraction != 0) {
            factor = 0xffffffff00;
        }
        if (product != 0) {
            product = 0xffffffffffffffff;
        }
    }
}

// Product of a factor and a number of 32 bits, rounded down, at most `limit`.
action take_share(in bit<40> factor, in bit<32> weight, in bit<64> limit, out bit<64> share) {
    share = ((bit<64>)factor[39:8] * (bit<64>)weight) >> factor[7:0];
    AT_MOST(share, limit)
}

#endif
