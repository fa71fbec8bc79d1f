// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.slotwise.control.Clock;
import org.slotwise.control.topology.DeviceId;

/** The fabric's time, which stands still until all that was asked of switches is answered. On the driver's thread. */
final class LockstepClock implements Clock {
    /** Questions to switches in the order in which they were asked, which is the order of their answers. */
    private final Deque<Runnable> awaited = new ArrayDeque<>();
    private boolean settling;
    private Runnable settled = () -> { };
    private long nowNs;

    /** Has something done each time that all is answered. */
    void whenSettled(Runnable task) {
        settled = task;
    }

    /** The fabric is at this time now, ns. */
    void set(long fabricNs) {
        nowNs = fabricNs;
    }

    @Override
    public long nowNs() {
        return nowNs;
    }

    /** The answer happens in {@link #settle}: when it came is of no account. */
    <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
        CompletableFuture<T> awaitedAnswer = new CompletableFuture<>();
        awaited.add(() -> {
            try {
                awaitedAnswer.complete(answer.get());
            } catch (ExecutionException e) {
                awaitedAnswer.completeExceptionally(e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting for a switch", e);
            }
        });
        return awaitedAnswer;
    }

    /** Waits for all answers, and for those to what they lead to. */
    void settle() {
        if (settling) {
            return;
        }
        settling = true;
        while (!awaited.isEmpty()) {
            awaited.remove().run();
        }
        settling = false;
        settled.run();
    }

    /** The driver tells the loop of its deadlines; what an event led to is over before the next one happens. */
    @Override
    public void wakeAt(OptionalLong deadlineNs, Runnable wake) {
        settle();
    }

    @Override
    public void retry(DeviceId device, long delayMs, Runnable task) {
        throw new IllegalStateException("device " + device + ": write rejected, the run is not reproducible");
    }
}
