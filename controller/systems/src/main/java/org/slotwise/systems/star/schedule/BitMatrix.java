// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/** Squares of 64 times 64 bits, a row a word, the lowest bit first. */
final class BitMatrix {
    private BitMatrix() {
    }

    /** Makes rows of columns, by exchanging ever smaller squares (Warren, Hacker's Delight, section 7-3). */
    static void transpose(long[] rows) {
        long mask = 0xFFFFFFFFL;
        for (int width = Long.SIZE / 2; width != 0; width >>>= 1) {
            for (int row = 0; row < Long.SIZE; row = (row | width) + 1 & ~width) {
                long exchanged = (rows[row] >>> width ^ rows[row | width]) & mask;
                rows[row] ^= exchanged << width;
                rows[row | width] ^= exchanged;
            }
            mask ^= mask << width / 2;
        }
    }
}
