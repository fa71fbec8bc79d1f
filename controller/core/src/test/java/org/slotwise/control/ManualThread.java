// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** Runs tasks in the caller, one after the other; what is scheduled waits until a test says so. */
public final class ManualThread extends AbstractExecutorService implements ScheduledExecutorService {
    private final Deque<Runnable> queue = new ArrayDeque<>();
    private final Deque<Timer> timers = new ArrayDeque<>();
    private boolean running;
    private boolean shutdown;

    @Override
    public void execute(Runnable task) {
        queue.add(task);
        if (!running) {
            running = true;
            while (!queue.isEmpty()) {
                queue.remove().run();
            }
            running = false;
        }
    }

    /** Runs the tasks that wait for a time, but not those that they schedule. */
    public void runTimers() {
        Timer last = timers.peekLast();
        Timer timer = null;
        while (timer != last) {
            timer = timers.remove();
            if (!timer.isCancelled()) {
                execute(timer);
            }
        }
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        Timer timer = new Timer(command, unit.toNanos(delay));
        timers.add(timer);
        return timer;
    }

    private static final class Timer extends FutureTask<Void> implements ScheduledFuture<Void> {
        private final long delayNs;

        Timer(Runnable task, long delayNs) {
            super(task, null);
            this.delayNs = delayNs;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(delayNs, TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(delayNs, other.getDelay(TimeUnit.NANOSECONDS));
        }
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> callable, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable command, long initialDelay, long period, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long initialDelay, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void shutdown() {
        shutdown = true;
    }

    @Override
    public List<Runnable> shutdownNow() {
        shutdown();
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        return shutdown;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return shutdown;
    }
}
