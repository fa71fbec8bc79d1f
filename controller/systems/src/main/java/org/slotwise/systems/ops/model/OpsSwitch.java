// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.Objects;
import org.slotwise.control.topology.DeviceId;

/** A switch that runs {@code ops.p4}; its number is its place in {@link OpsNetwork#switches}. Immutable. */
public final class OpsSwitch {
    private final String name;
    private final DeviceId device;

    /** Takes what it has; {@link OpsNetwork} checks that it fits the rest. */
    public OpsSwitch(String name, DeviceId device) {
        this.name = Objects.requireNonNull(name);
        this.device = Objects.requireNonNull(device);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Its P4Runtime device. */
    public DeviceId device() {
        return device;
    }
}
