// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.Map;
import org.slotwise.control.Switches;
import org.slotwise.control.topology.DeviceId;

/**
 * The switches that ONOS has. Futures complete on any thread, with {@link SwitchUnavailableException} if it did not work.
 */
public interface OnosSwitches extends Switches {
    /** Whether the switch is connected and runs its program. */
    boolean isAvailable(DeviceId device);

    /** Whether each of its ports has light; none of a switch that ONOS does not know. */
    Map<Integer, Boolean> ports(DeviceId device);
}
