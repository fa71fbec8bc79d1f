// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.network;

import java.util.List;
import java.util.Objects;

/** Edge switch: its device, address, hosts and fibre. */
public final class Edge {
    private final EdgeId id;
    private final DeviceId device;
    private final MacAddress mac;
    private final List<Host> hosts;
    private final Fibre fibre;

    /** Takes what the edge has; {@link Network} checks that it fits the rest. */
    public Edge(EdgeId id, DeviceId device, MacAddress mac, List<Host> hosts, Fibre fibre) {
        this.id = Objects.requireNonNull(id);
        this.device = Objects.requireNonNull(device);
        this.mac = Objects.requireNonNull(mac);
        this.hosts = List.copyOf(hosts);
        this.fibre = Objects.requireNonNull(fibre);
    }

    /** Number. */
    public EdgeId id() {
        return id;
    }

    /** P4Runtime device. */
    public DeviceId device() {
        return device;
    }

    /** The edge's own Ethernet address, towards its hosts. */
    public MacAddress mac() {
        return mac;
    }

    /** Hosts in the order given. */
    public List<Host> hosts() {
        return hosts;
    }

    /** The fibre to the core. */
    public Fibre fibre() {
        return fibre;
    }
}
