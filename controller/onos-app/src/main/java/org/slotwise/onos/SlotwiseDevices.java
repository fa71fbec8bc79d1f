// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.Optional;
import org.onosproject.net.DeviceId;

/** ONOS's identifiers of the switches: {@code device:slotwise:<P4Runtime device_id>}. */
public final class SlotwiseDevices {
    private static final String PREFIX = "device:slotwise:";

    private SlotwiseDevices() {
    }

    /** ONOS's identifier. */
    public static DeviceId onos(org.slotwise.control.topology.DeviceId device) {
        return DeviceId.deviceId(PREFIX + device.value());
    }

    /** The P4Runtime identifier; empty if the device is none of ours. */
    public static Optional<org.slotwise.control.topology.DeviceId> p4runtime(DeviceId device) {
        String text = device.toString();
        if (!text.startsWith(PREFIX)) {
            return Optional.empty();
        }
        try {
            return Optional.of(org.slotwise.control.topology.DeviceId.of(Long.parseLong(text.substring(PREFIX.length()))));
        } catch (IllegalArgumentException notOurs) {
            return Optional.empty();
        }
    }
}
