// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.wire.Limits;

/** Hosts at access ports of a station or edge, as documents have them; one without a name is named by its address. */
public final class AccessHosts {
    private static final String HOSTS = "hosts";

    private AccessHosts() {
    }

    /** Reads {@code hosts}, which must be there. */
    public static List<Host> read(JsonFields parent) throws InvalidJsonException {
        List<Host> hosts = new ArrayList<>();
        for (JsonNode each : parent.array(HOSTS)) {
            JsonFields host = JsonFields.of(parent.place(HOSTS + "[" + hosts.size() + "]"), each, "name", "port", "mac", "ip");
            Ipv4Address ip = host.parsed("ip", Ipv4Address::ofHost);
            hosts.add(new Host(host.optional("name").isPresent() ? host.name("name") : ip.toString(), ip,
                    host.parsed("mac", MacAddress::parse), port(host)));
        }
        return hosts;
    }

    /** Reads {@code port}, which must be there and be an access port. */
    public static int port(JsonFields fields) throws InvalidJsonException {
        return (int) fields.integer("port", Limits.MIN_RING_PORT, Limits.MAX_RING_PORT);
    }
}
