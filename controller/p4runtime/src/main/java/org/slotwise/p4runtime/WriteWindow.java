// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.common.util.concurrent.SettableFuture;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/**
 * Writes that one server has to answer at once, in bytes: the switches of a large network would otherwise get all their tables in one
 * moment, and a server refuses what it has no room for. May be called from any thread.
 */
final class WriteWindow {
    /** A larger write goes alone. */
    static final int MAX_BYTES = 2 << 20;

    private final Deque<Waiting<?>> waiting = new ArrayDeque<>();
    private long unansweredBytes;

    private static final class Waiting<T> {
        private final int bytes;
        private final Supplier<ListenableFuture<T>> call;
        private final SettableFuture<T> answer = SettableFuture.create();

        Waiting(int bytes, Supplier<ListenableFuture<T>> call) {
            this.bytes = bytes;
            this.call = call;
        }

        /** Calls; who has cancelled it meanwhile cancels the call. */
        void begin(Runnable answered) {
            ListenableFuture<T> called = call.get();
            called.addListener(answered, MoreExecutors.directExecutor());
            answer.setFuture(called);
        }
    }

    /** Makes a call that sends so many bytes when there is room for them, in order; if it is cancelled before, never. */
    <T> ListenableFuture<T> send(int bytes, Supplier<ListenableFuture<T>> call) {
        Waiting<T> next = new Waiting<>(bytes, call);
        synchronized (this) {
            waiting.add(next);
        }
        begin();
        return next.answer;
    }

    private void begin() {
        for (Waiting<?> next = next(); next != null; next = next()) {
            int bytes = next.bytes;
            next.begin(() -> {
                synchronized (this) {
                    unansweredBytes -= bytes;
                }
                begin();
            });
        }
    }

    /** The next one that there is room for, which takes it; null if there is none. */
    private synchronized Waiting<?> next() {
        while (!waiting.isEmpty() && waiting.peek().answer.isCancelled()) {
            waiting.remove();
        }
        Waiting<?> first = waiting.peek();
        if (first == null || unansweredBytes > 0 && unansweredBytes + first.bytes > MAX_BYTES) {
            return null;
        }
        unansweredBytes += first.bytes;
        return waiting.remove();
    }
}
