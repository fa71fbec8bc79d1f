// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ops;

import java.util.List;
import java.util.Objects;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.MacAddress;

/** A switch that runs {@code edge.p4} and makes trains, with one fibre to a switch of the network. Immutable. */
public final class OpsEdge {
    private final String name;
    private final DeviceId device;
    private final int number;
    private final MacAddress mac;
    private final int at;
    private final int fibre;
    private final long delayNs;
    private final List<Host> hosts;

    /**
     * Takes what it has; {@link OpsNetwork} checks that it fits the rest.
     *
     * @param number by which labels name it
     * @param at number of its switch
     * @param fibre number of its fibre there; here it is 0
     */
    public OpsEdge(String name, DeviceId device, int number, MacAddress mac, int at, int fibre, long delayNs, List<Host> hosts) {
        this.name = Objects.requireNonNull(name);
        this.device = Objects.requireNonNull(device);
        this.number = number;
        this.mac = Objects.requireNonNull(mac);
        this.at = at;
        this.fibre = fibre;
        this.delayNs = delayNs;
        this.hosts = List.copyOf(hosts);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Its P4Runtime device. */
    public DeviceId device() {
        return device;
    }

    /** By which labels name it. */
    public int number() {
        return number;
    }

    /** Its own Ethernet address. */
    public MacAddress mac() {
        return mac;
    }

    /** Number of its switch. */
    public int at() {
        return at;
    }

    /** Number of its fibre at its switch. */
    public int fibre() {
        return fibre;
    }

    /** Propagation delay of its fibre, ns. */
    public long delayNs() {
        return delayNs;
    }

    /** Its hosts. */
    public List<Host> hosts() {
        return hosts;
    }
}
