// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/** Bounds the memory of answers: of those that are being made, and of those that callers are slow to take. */
final class UntakenAnswers {
    /** Answers that are made at once; others wait. */
    private static final int MADE_AT_ONCE = 4;

    private final long mostBytes;
    private final AtomicLong bytes = new AtomicLong();
    private final Semaphore making = new Semaphore(MADE_AT_ONCE);

    /** Makes an answer. */
    interface Maker<T> {
        T make() throws Exception;
    }

    /** Takes how many bytes may wait for callers. */
    UntakenAnswers(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /** Makes an answer when there is room for it. */
    <T> T make(Maker<T> maker) throws Exception {
        making.acquire();
        try {
            return maker.make();
        } finally {
            making.release();
        }
    }

    /** Whether an answer of so many bytes may wait for its caller; {@link #taken} is then called once. One alone always may. */
    boolean mayWait(long size) {
        long before = bytes.getAndUpdate(all -> all == 0 || all + size <= mostBytes ? all + size : all);
        return before == 0 || before + size <= mostBytes;
    }

    /** An answer was taken, or its caller has gone. */
    void taken(long size) {
        bytes.addAndGet(-size);
    }
}
