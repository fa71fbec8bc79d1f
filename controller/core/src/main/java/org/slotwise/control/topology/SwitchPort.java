// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.Objects;

/** Port of a switch. */
public final class SwitchPort {
    private final DeviceId device;
    private final int port;

    /** Takes the switch, and the number of its port. */
    public SwitchPort(DeviceId device, int port) {
        this.device = Objects.requireNonNull(device);
        this.port = port;
    }

    /** The switch. */
    public DeviceId device() {
        return device;
    }

    /** The number of its port. */
    public int port() {
        return port;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof SwitchPort && ((SwitchPort) o).device.equals(device) && ((SwitchPort) o).port == port;
    }

    @Override
    public int hashCode() {
        return Objects.hash(device, port);
    }

    @Override
    public String toString() {
        return "port " + port + " of device " + device;
    }
}
