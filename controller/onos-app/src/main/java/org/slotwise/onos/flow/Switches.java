// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import org.slotwise.control.DeviceWrites;
import org.slotwise.core.network.DeviceId;

/**
 * The switches as the controller's runner needs them. Futures complete on any thread, with
 * {@link SwitchUnavailableException} if it did not work.
 */
public interface Switches extends DeviceWrites.Tables {
    /** Whether the switch is connected and runs its program. */
    boolean isAvailable(DeviceId device);

    /** Sends a packet. */
    void send(DeviceId device, int port, byte[] frame);
}
