// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import java.util.Map;
import org.slotwise.control.topology.DeviceId;

/**
 * Where the P4Runtime servers of the switches listen: one that holds them all, or some with servers of their own.
 *
 * @param common {@code host:port} of the server of every switch that has none of its own
 * @param own {@code host:port} by switch
 */
public record ServerAddresses(String common, Map<DeviceId, String> own) {
    /** Takes a copy. */
    public ServerAddresses {
        own = Map.copyOf(own);
    }

    /** One server for all. */
    public static ServerAddresses common(String address) {
        return new ServerAddresses(address, Map.of());
    }

    /** {@code host:port} of a switch's server. */
    public String of(DeviceId device) {
        return own.getOrDefault(device, common);
    }
}
