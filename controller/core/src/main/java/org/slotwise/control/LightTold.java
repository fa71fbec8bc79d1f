// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.Objects;
import org.slotwise.control.topology.DeviceId;

/** Someone says whether a switch's port has light: of a switch that cannot tell itself. */
public final class LightTold extends Event.Order {
    private final DeviceId device;
    private final int port;
    private final boolean up;

    /** Takes the switch, its port, and whether light passes there now. */
    public LightTold(DeviceId device, int port, boolean up) {
        this.device = Objects.requireNonNull(device);
        this.port = port;
        this.up = up;
    }

    /** The switch. */
    public DeviceId device() {
        return device;
    }

    /** Its port. */
    public int port() {
        return port;
    }

    /** Whether light passes there now. */
    public boolean isUp() {
        return up;
    }
}
