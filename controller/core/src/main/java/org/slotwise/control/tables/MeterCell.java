// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.tables;

/**
 * The rates of one cell of a meter as an entry of a "table" that is named after the meter: so a cell is owned, written and remembered
 * as entries are. It is not read from a switch; who deletes it makes the cell green for all.
 */
public final class MeterCell {
    /** The number of the cell. */
    public static final String INDEX = "index";
    /** Units a second that are green. */
    public static final String COMMITTED_RATE = "cir";
    /** Units at once that are green. */
    public static final String COMMITTED_BURST = "cburst";
    /** Units a second that are not red. */
    public static final String PEAK_RATE = "pir";
    /** Units at once that are not red. */
    public static final String PEAK_BURST = "pburst";
    /** No action of P4 has such a name. */
    private static final String ACTION = "meter rates";

    private MeterCell() {
    }

    /** Rates (a second) and bursts in the meter's unit, 1 or more; the peak rate is not below the committed one. */
    public static TableEntry of(String meter, int index, long committedRate, long committedBurst, long peakRate, long peakBurst) {
        if (index < 0 || Math.min(committedRate, Math.min(committedBurst, peakBurst)) < 1 || peakRate < committedRate) {
            throw new IllegalArgumentException("meter " + meter + ", cell " + index + ": expected rates and bursts of at least 1 and a peak rate"
                    + " of at least the committed rate, got " + committedRate + ", " + committedBurst + ", " + peakRate + ", " + peakBurst);
        }
        return TableEntry.in(meter).exact(INDEX, index).action(ACTION)
                .param(COMMITTED_RATE, committedRate).param(COMMITTED_BURST, committedBurst)
                .param(PEAK_RATE, peakRate).param(PEAK_BURST, peakBurst).build();
    }

    /** Whether an entry is a cell of a meter. */
    public static boolean is(TableEntry entry) {
        return entry.action().equals(ACTION);
    }
}
