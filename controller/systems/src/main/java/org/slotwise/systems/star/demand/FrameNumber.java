// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

/** Arithmetic on frame numbers and byte counts, which are 32 bits that wrap. */
public final class FrameNumber {
    private FrameNumber() {
    }

    /** {@code later - earlier} as a signed number: negative if {@code later} is in fact the earlier one. */
    public static int difference(long later, long earlier) {
        return (int) (later - earlier);
    }

    /** The frame {@code frames} after {@code frame}. */
    public static long plus(long frame, long frames) {
        return frame + frames & 0xffff_ffffL;
    }
}
