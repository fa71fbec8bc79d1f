// SPDX-License-Identifier: Apache-2.0
package org.slotwise.routes;

import java.util.Objects;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;

/** Someone tells XCP another capacity of an output that it controls. */
public final class CapacityChosen extends Event.Order {
    private final DeviceId device;
    private final int port;
    private final long bps;

    /** Takes the router, its port, which has XCP, and 1 .. {@link RoutedNetwork#MAX_RATE_BPS} bit/s. */
    public CapacityChosen(DeviceId device, int port, long bps) {
        if (bps < 1 || bps > RoutedNetwork.MAX_RATE_BPS) {
            throw new IllegalArgumentException("a capacity is 1 .. " + RoutedNetwork.MAX_RATE_BPS + " bit/s, got " + bps);
        }
        this.device = Objects.requireNonNull(device);
        this.port = port;
        this.bps = bps;
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
