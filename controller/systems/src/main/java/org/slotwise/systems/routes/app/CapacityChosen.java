// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import java.util.Objects;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.wire.Limits;

/** Someone tells XCP another capacity of an output that it controls. */
public final class CapacityChosen extends Event.Order {
    private final DeviceId device;
    private final int port;
    private final long bps;

    /** Takes the router, its port, which has XCP, and {@link Limits#MIN_RATE_BPS} .. {@link Limits#MAX_RATE_BPS} bit/s. */
    public CapacityChosen(DeviceId device, int port, long bps) {
        if (!isPossible(bps)) {
            throw new IllegalArgumentException("XCP capacity: expected " + Limits.MIN_RATE_BPS + " .. " + Limits.MAX_RATE_BPS + " bit/s, got " + bps);
        }
        this.device = Objects.requireNonNull(device);
        this.port = port;
        this.bps = bps;
    }

    /** Whether XCP can reckon with so many bit/s. */
    public static boolean isPossible(long bps) {
        return bps >= Limits.MIN_RATE_BPS && bps <= Limits.MAX_RATE_BPS;
    }

    /** The router. */
    public DeviceId device() {
        return device;
    }

    /** Its port. */
    public int port() {
        return port;
    }

    /** Bits a second. */
    public long bps() {
        return bps;
    }
}
