// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class HistogramTest {
    @Test
    void emptyHistogramIsZero() {
        Histogram histogram = new Histogram();
        assertEquals(0, histogram.percentile(99));
        assertEquals(0, histogram.max());
    }

    @Test
    void percentilesOfOneToThousand() {
        Histogram histogram = new Histogram();
        for (int value = 1; value <= 1000; value++) {
            histogram.record(value);
        }
        assertTrue(histogram.percentile(50) >= 500 && histogram.percentile(50) <= 500 + 500 / 16);
        assertTrue(histogram.percentile(99) >= 990 && histogram.percentile(99) <= 1000);
        assertEquals(1000, histogram.percentile(100));
        assertEquals(1000, histogram.count());
    }

    @Property(seed = "20260301")
    void oneValueIsNeverUnderstatedAndAtMostASixteenthTooHigh(@ForAll @LongRange(min = 0) long value) {
        Histogram histogram = new Histogram();
        histogram.record(value);
        histogram.record(Long.MAX_VALUE);
        long median = histogram.percentile(50);
        assertTrue(median >= value && median - value <= value / 16);
    }
}
