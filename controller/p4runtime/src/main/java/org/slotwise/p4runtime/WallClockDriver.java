// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.core.Event;
import org.slotwise.core.network.DeviceId;

/** Time is the machine's monotonic clock; packets count when they come; lost switches are called again. */
public final class WallClockDriver extends Driver {
    private static final Logger LOG = LoggerFactory.getLogger(WallClockDriver.class);
    private static final long FIRST_RETRY_MS = 100;
    private static final long LAST_RETRY_MS = 5000;
    private static final int CHECKS_A_SILENCE = 5;

    private final Map<DeviceId, Long> retryMs = new HashMap<>();
    private OptionalLong wakeNs = OptionalLong.empty();
    private ScheduledFuture<?> wake;

    /** Takes what it needs; does nothing before {@link #start}. */
    public WallClockDriver(Setup setup) {
        super(setup, false);
        long periodMs = Math.max(1, setup.patience().silence().toMillis() / CHECKS_A_SILENCE);
        executor().scheduleWithFixedDelay(guarded(() -> sessions().values().forEach(DeviceSession::check)),
                periodMs, periodMs, TimeUnit.MILLISECONDS);
    }

    @Override
    long nowNs() {
        return System.nanoTime();
    }

    @Override
    void onPacketIn(DeviceSession session, Event.PacketIn packet) {
        deliver(packet);
    }

    @Override
    void onOther(DeviceSession session, Any message) {
        LOG.debug("device {}: ignored {}", session.device(), message.getTypeUrl());
    }

    @Override
    void onPrimary(DeviceSession session) {
        tables().read(session.device());
    }

    @Override
    void onAnswer(Runnable task) {
        onThread(task);
    }

    @Override
    void onWritten(DeviceId device) {
        retryMs.remove(device);
    }

    @Override
    void onLost(DeviceSession session) {
        deliver(new Event.DeviceLost(session.device()));
        retry(session, () -> reconnect(session));
    }

    @Override
    void readAgain(DeviceSession session) {
        retry(session, () -> {
            if (session.isPrimary()) {
                tables().read(session.device());
            }
        });
    }

    private void retry(DeviceSession session, Runnable action) {
        long delayMs = retryMs.getOrDefault(session.device(), FIRST_RETRY_MS);
        retryMs.put(session.device(), Math.min(LAST_RETRY_MS, 2 * delayMs));
        executor().schedule(guarded(action), delayMs, TimeUnit.MILLISECONDS);
    }

    @Override
    void afterEvent() {
        OptionalLong deadlineNs = controller().nextDeadlineNs();
        if (deadlineNs.equals(wakeNs)) {
            return;
        }
        if (wake != null) {
            wake.cancel(false);
            wake = null;
        }
        wakeNs = deadlineNs;
        if (deadlineNs.isPresent()) {
            long delayNs = Math.max(0, deadlineNs.getAsLong() - System.nanoTime());
            wake = executor().schedule(guarded(this::onDeadline), delayNs, TimeUnit.NANOSECONDS);
        }
    }

    private void onDeadline() {
        wake = null;
        wakeNs = OptionalLong.empty();
        deliver(new Event.DeadlineReached());
    }
}
