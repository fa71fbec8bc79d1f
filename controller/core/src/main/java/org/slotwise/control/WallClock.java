// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slotwise.control.topology.DeviceId;

/** This machine's time. */
public final class WallClock implements Clock {
    private final ScheduledExecutorService thread;
    private final LongSupplier clockNs;
    private OptionalLong wakeNs = OptionalLong.empty();
    private Optional<Future<?>> wakeUp = Optional.empty();

    /** Takes the loop's thread, and ns of a clock that never goes back. */
    public WallClock(ScheduledExecutorService thread, LongSupplier clockNs) {
        this.thread = thread;
        this.clockNs = clockNs;
    }

    @Override
    public long nowNs() {
        return clockNs.getAsLong();
    }

    @Override
    public void wakeAt(OptionalLong deadlineNs, Runnable wake) {
        if (deadlineNs.equals(wakeNs)) {
            return;
        }
        wakeUp.ifPresent(before -> before.cancel(false));
        wakeUp = Optional.empty();
        wakeNs = deadlineNs;
        if (deadlineNs.isPresent()) {
            wakeUp = schedule(() -> {
                wakeUp = Optional.empty();
                wakeNs = OptionalLong.empty();
                wake.run();
            }, Math.max(0, deadlineNs.getAsLong() - nowNs()), TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void retry(DeviceId device, long delayMs, Runnable task) {
        schedule(task, delayMs, TimeUnit.MILLISECONDS);
    }

    private Optional<Future<?>> schedule(Runnable task, long delay, TimeUnit unit) {
        try {
            return Optional.of(thread.schedule(task, delay, unit));
        } catch (RejectedExecutionException ended) {
            return Optional.empty();
        }
    }
}
