// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

/** Forecasts how much will come in the frames until a schedule is in force, from what came in each frame before. */
public enum DemandEstimator {
    /** An average over about two requests: fast enough to follow, slow enough not to follow each packet. */
    EWMA {
        @Override
        void update(Rate rate, long perFrame) {
            rate.level = (rate.level + perFrame) / 2;
            rate.slope = 0;
        }
    },
    /** What came last will come again. */
    LAST {
        @Override
        void update(Rate rate, long perFrame) {
            rate.level = perFrame;
            rate.slope = 0;
        }
    },
    /** A linear trend (Holt's double exponential smoothing, factors 1/2 and 1/4): follows what grows or fades. */
    TREND {
        @Override
        void update(Rate rate, long perFrame) {
            if (!rate.started) {
                rate.started = true;
                rate.level = perFrame;
                return;
            }
            long expected = rate.level + rate.slope;
            long level = (expected + perFrame) / 2;
            rate.slope += (level - expected) / 4;
            rate.level = level;
        }
    };

    /** Bytes that come each frame: level, and change from frame to frame. */
    static final class Rate {
        private boolean started;
        private long level;
        private long slope;

        /** Bytes expected in the frame that is {@code ahead} frames after the last one seen. */
        long expected(int ahead) {
            return Math.max(0, level + ahead * slope);
        }
    }

    /** Takes the bytes that came in a frame. */
    abstract void update(Rate rate, long perFrame);
}
