// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

/** Counts values in buckets of at most 1/16 relative width; percentiles are bucket ends, at most 1/16 too high. */
public final class Histogram {
    private static final int SUB_BITS = 4;
    private static final int SUB_BUCKETS = 1 << SUB_BITS;

    private final long[] counts = new long[(Long.SIZE - SUB_BITS) * SUB_BUCKETS];
    private long count;
    private long max;

    /** Takes a value; a negative one counts as 0. */
    public void record(long newValue) {
        long value = Math.max(0, newValue);
        counts[bucketOf(value)]++;
        count++;
        max = Math.max(max, value);
    }

    /** Values taken. */
    public long count() {
        return count;
    }

    /** The largest; 0 if there is none. */
    public long max() {
        return max;
    }

    /** The value that {@code percent} of all do not exceed; 0 if there is none. */
    public long percentile(int percent) {
        if (percent < 1 || percent > 100) {
            throw new IllegalArgumentException("percent: expected 1 .. 100, got " + percent);
        }
        long wanted = (count * percent + 99) / 100;
        long seen = 0;
        for (int bucket = 0; bucket < counts.length; bucket++) {
            seen += counts[bucket];
            if (seen >= wanted) {
                return Math.min(max, lastOf(bucket));
            }
        }
        return max;
    }

    private static int bucketOf(long value) {
        int shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(value) - SUB_BITS - 1);
        return shift * SUB_BUCKETS + (int) (value >>> shift);
    }

    private static long lastOf(int bucket) {
        if (bucket < 2 * SUB_BUCKETS) {
            return bucket;
        }
        int shift = bucket / SUB_BUCKETS - 1;
        long mantissa = bucket - (long) shift * SUB_BUCKETS;
        return (mantissa + 1 << shift) - 1;
    }
}
