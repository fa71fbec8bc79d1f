// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.Limits;

/** What the estimators and the fairness of a ring reckon with. Immutable and valid. */
public final class RingTiming {
    /** Longest window, ns: what a window's rate is multiplied with is a whole number of 1/256 then. */
    public static final long MAX_WINDOW_NS = 10_000_000_000L;
    private static final long NS_PER_S = 1_000_000_000L;
    /** P4 has rates of intervals and windows in 1/256 a second. */
    private static final int Q8 = 256;

    private final long intervalNs;
    private final int windowIntervals;
    private final int oldShift;
    private final int newShift;
    private final int bucketBytes;
    private final long holTimerNs;
    private final int calmIntervals;
    private final int holdIntervals;
    private final int waitIntervals;
    private final int reportIntervals;
    private final int watchIntervals;

    /** Collects the parts. */
    public static final class Builder {
        private long intervalNs;
        private int windowIntervals;
        private int w1 = 1;
        private int w2 = 1;
        private int bucketBytes;
        private long holTimerNs;
        private int calmIntervals;
        private int holdIntervals;
        private int waitIntervals;
        private int reportIntervals;
        private int watchIntervals;

        /** Length of an interval, ns, and of a window, intervals. */
        public Builder interval(long ns, int ofWindow) {
            this.intervalNs = ns;
            this.windowIntervals = ofWindow;
            return this;
        }

        /** Weights of the estimators, powers of two: of what was estimated, and of the sample. */
        public Builder estimator(int old, int sample) {
            this.w1 = old;
            this.w2 = sample;
            return this;
        }

        /** What a station may add at once beyond its rate. */
        public Builder bucketBytes(int bytes) {
            this.bucketBytes = bytes;
            return this;
        }

        /** How long transit may hold back what could be added before the link counts as congested. */
        public Builder holTimerNs(long ns) {
            this.holTimerNs = ns;
            return this;
        }

        /** Intervals after which congestion is over, and after which what was told is forgotten. */
        public Builder calmAndHold(int calm, int hold) {
            this.calmIntervals = calm;
            this.holdIntervals = hold;
            return this;
        }

        /** Intervals between two corrections of a conservative head, and between two reports, less than what was told holds. */
        public Builder waitAndReport(int wait, int report) {
            this.waitIntervals = wait;
            this.reportIntervals = report;
            return this;
        }

        /** Intervals between two reports in modes other than CONTROLLER, which only shows them. Without it there are none. */
        public Builder watchIntervals(int intervals) {
            checkIntervals("watch_intervals", intervals);
            this.watchIntervals = intervals;
            return this;
        }

        /** The timing; throws {@link InvalidNetworkException} with place and reason if a part is out of range. */
        public RingTiming build() {
            return new RingTiming(this);
        }
    }

    private RingTiming(Builder builder) {
        Ranges.check("interval_ns", builder.intervalNs, Limits.MIN_RING_INTERVAL_NS, Limits.MAX_RING_INTERVAL_NS);
        Ranges.check("window_intervals", builder.windowIntervals, Limits.MIN_RING_WINDOW_INTERVALS, Limits.MAX_RING_WINDOW_INTERVALS);
        if (builder.intervalNs * builder.windowIntervals > MAX_WINDOW_NS) {
            throw new InvalidNetworkException("window_intervals", "expected a window of at most " + MAX_WINDOW_NS + " ns, got "
                    + builder.windowIntervals + " intervals of " + builder.intervalNs + " ns");
        }
        this.oldShift = shift("estimator.w1", builder.w1);
        this.newShift = shift("estimator.w2", builder.w2);
        Ranges.check("bucket_bytes", builder.bucketBytes, Limits.MIN_RING_BUCKET_BYTES, Limits.MAX_RING_BUCKET_BYTES);
        Ranges.check("hol_timer_ns", builder.holTimerNs, Limits.MIN_RING_HOL_TIMER_NS, Limits.MAX_RING_HOL_TIMER_NS);
        checkIntervals("calm_intervals", builder.calmIntervals);
        checkIntervals("hold_intervals", builder.holdIntervals);
        checkIntervals("wait_intervals", builder.waitIntervals);
        checkIntervals("report_intervals", builder.reportIntervals);
        if (builder.reportIntervals >= builder.holdIntervals) {
            throw new InvalidNetworkException("report_intervals", "expected less than 'hold_intervals', " + builder.holdIntervals
                    + ", so that advertised rates outlive a report interval, got " + builder.reportIntervals);
        }
        this.intervalNs = builder.intervalNs;
        this.windowIntervals = builder.windowIntervals;
        this.bucketBytes = builder.bucketBytes;
        this.holTimerNs = builder.holTimerNs;
        this.calmIntervals = builder.calmIntervals;
        this.holdIntervals = builder.holdIntervals;
        this.waitIntervals = builder.waitIntervals;
        this.reportIntervals = builder.reportIntervals;
        this.watchIntervals = builder.watchIntervals;
    }

    private static void checkIntervals(String where, int intervals) {
        Ranges.check(where, intervals, Limits.MIN_RING_INTERVALS, Limits.MAX_RING_INTERVALS);
    }

    private static int shift(String where, int weight) {
        Ranges.check(where, weight, Limits.MIN_RING_ESTIMATOR, Limits.MAX_RING_ESTIMATOR);
        if (Integer.bitCount(weight) != 1) {
            throw new InvalidNetworkException(where, "expected a power of two, got " + weight);
        }
        return Integer.numberOfTrailingZeros(weight);
    }

    /** Length of an interval, ns. */
    public long intervalNs() {
        return intervalNs;
    }

    /** Intervals a second, in 1/256. */
    public long intervalsQ8() {
        return Q8 * NS_PER_S / intervalNs;
    }

    /** Intervals of a window. */
    public int windowIntervals() {
        return windowIntervals;
    }

    /** Length of a window, ns. */
    public long windowNs() {
        return intervalNs * windowIntervals;
    }

    /** Windows a second, in 1/256. */
    public long windowsQ8() {
        return Q8 * NS_PER_S / windowNs();
    }

    /** The weight of what was estimated is 2 to this. */
    public int oldShift() {
        return oldShift;
    }

    /** The weight of a sample is 2 to this. */
    public int newShift() {
        return newShift;
    }

    /** What a station may add at once beyond its rate. */
    public int bucketBytes() {
        return bucketBytes;
    }

    /** Head-of-line timer, ns. */
    public long holTimerNs() {
        return holTimerNs;
    }

    /** Intervals after which congestion is over. */
    public int calmIntervals() {
        return calmIntervals;
    }

    /** Intervals after which what was told is forgotten. */
    public int holdIntervals() {
        return holdIntervals;
    }

    /** Intervals between two corrections of a conservative head. */
    public int waitIntervals() {
        return waitIntervals;
    }

    /** Intervals between two reports in mode CONTROLLER. */
    public int reportIntervals() {
        return reportIntervals;
    }

    /** Intervals between two reports in the other modes; 0: there are none. */
    public int watchIntervals() {
        return watchIntervals;
    }
}
