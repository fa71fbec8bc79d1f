// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.slotwise.control.topology.DeviceId;

/** Ports of switches as every system shows them. */
public final class PortCodec {
    private PortCodec() {
    }

    /** Writes a port. */
    public static ObjectNode port(DeviceId device, int port, boolean isUp) {
        return JsonNodeFactory.instance.objectNode().put("device_id", device.value()).put("port", port).put("up", isUp);
    }
}
