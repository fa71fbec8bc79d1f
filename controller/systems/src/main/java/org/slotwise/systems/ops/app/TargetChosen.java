// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import java.util.Objects;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.ops.model.OpsSettings;

/** Someone tells the agent of an output another part of its rate to aim at. */
public final class TargetChosen extends Event.Order {
    private final DeviceId device;
    private final int port;
    private final double target;

    /** Takes the switch, the port of one of its wavelengths for data, and the part, above 0, at most 1. */
    public TargetChosen(DeviceId device, int port, double target) {
        if (!OpsSettings.isTarget(target)) {
            throw new IllegalArgumentException("target: expected a value above 0 and at most 1, got " + target);
        }
        this.device = Objects.requireNonNull(device);
        this.port = port;
        this.target = target;
    }

    /** The switch. */
    public DeviceId device() {
        return device;
    }

    /** Its port. */
    public int port() {
        return port;
    }

    /** The part. */
    public double target() {
        return target;
    }
}
