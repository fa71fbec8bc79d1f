// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.WallClock;

/** Time is the machine's monotonic clock; packets count when they come; lost switches are called again. */
public final class WallClockDriver extends Driver {
    private static final Logger LOG = LoggerFactory.getLogger(WallClockDriver.class);
    private static final int CHECKS_A_SILENCE = 5;

    /** Takes what it needs; does nothing before {@link #start}. */
    public WallClockDriver(Setup setup) {
        super(setup, false, thread -> new WallClock(thread, System::nanoTime));
        long periodMs = Math.max(1, setup.patience().silence().toMillis() / CHECKS_A_SILENCE);
        executor().scheduleWithFixedDelay(() -> loop().guarded(() -> sessions().values().forEach(DeviceSession::check)),
                periodMs, periodMs, TimeUnit.MILLISECONDS);
    }

    @Override
    void onPacketIn(DeviceSession session, int port, byte[] frame) {
        loop().packetIn(session.device(), port, frame);
    }

    @Override
    void onPort(DeviceSession session, int port, boolean up) {
        loop().portChanged(session.device(), port, up);
    }

    @Override
    void onOther(DeviceSession session, Any message) {
        LOG.debug("device {}: ignored {}", session.device(), message.getTypeUrl());
    }

    @Override
    void onPrimary(DeviceSession session) {
        loop().read(session.device());
    }

    @Override
    void onLost(DeviceSession session) {
        loop().lost(session.device());
        loop().retry(session.device(), () -> reconnect(session));
    }
}
