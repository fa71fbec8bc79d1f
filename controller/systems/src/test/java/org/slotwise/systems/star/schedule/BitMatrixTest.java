// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class BitMatrixTest {
    @Property(seed = "20261127")
    void transposedBitsAreThoseOfColumns(@ForAll Random random) {
        long[] rows = random.longs(Long.SIZE).toArray();
        long[] transposed = rows.clone();
        BitMatrix.transpose(transposed);
        for (int row = 0; row < Long.SIZE; row++) {
            for (int column = 0; column < Long.SIZE; column++) {
                assertEquals(rows[row] >>> column & 1, transposed[column] >>> row & 1);
            }
        }
    }
}
