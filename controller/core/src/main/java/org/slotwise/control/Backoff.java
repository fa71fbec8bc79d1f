// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.function.LongSupplier;

/** Wait before the next attempt at what failed: twice as long after each failure, up to a maximum. In units of the caller. Not thread-safe. */
public final class Backoff {
    private static final long FIRST_MS = 100;

    private final long first;
    private final LongSupplier max;
    private long next;

    /**
     * Starts at the first wait.
     *
     * @param first wait after the first failure, above 0, also where it is above the maximum
     * @param max longest wait, read after each failure
     */
    public Backoff(long first, LongSupplier max) {
        this.first = first;
        this.max = max;
        this.next = first;
    }

    /** Returns waits in ms for what concerns switches and clusters, from 100 ms to a maximum. */
    public static Backoff ofMs(LongSupplier maxMs) {
        return new Backoff(FIRST_MS, maxMs);
    }

    /** Returns the wait after the next failure. */
    public long next() {
        return next;
    }

    /** Returns the wait after a failure, and doubles the next one. */
    public long afterFailure() {
        long wait = next;
        long longest = max.getAsLong();
        next = wait > longest / 2 ? longest : 2 * wait;
        return wait;
    }

    /** Begins at the first wait again, after a success. */
    public void reset() {
        next = first;
    }
}
