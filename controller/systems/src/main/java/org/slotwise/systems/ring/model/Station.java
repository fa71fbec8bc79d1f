// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.MacAddress;

/** A switch that runs {@code ring.p4}; its number is its place in {@link RingNetwork#stations}. Immutable. */
public final class Station {
    private final String name;
    private final DeviceId device;
    private final MacAddress mac;
    private final int weight;
    private final List<Host> hosts;
    private final List<TrafficRule> rules;

    /** Takes what it has; {@link RingNetwork} checks that it fits the rest. */
    public Station(String name, DeviceId device, MacAddress mac, int weight, List<Host> hosts, List<TrafficRule> rules) {
        this.name = Objects.requireNonNull(name);
        this.device = Objects.requireNonNull(device);
        this.mac = Objects.requireNonNull(mac);
        this.weight = weight;
        this.hosts = List.copyOf(hosts);
        this.rules = List.copyOf(rules);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Its P4Runtime device. */
    public DeviceId device() {
        return device;
    }

    /** Its own Ethernet address. */
    public MacAddress mac() {
        return mac;
    }

    /** Its weight to begin with: links are shared in proportion to weights. */
    public int weight() {
        return weight;
    }

    /** Its hosts. */
    public List<Host> hosts() {
        return hosts;
    }

    /** Ports that hosts are at, in order. */
    public Set<Integer> hostPorts() {
        Set<Integer> ports = new TreeSet<>();
        hosts.forEach(host -> ports.add(host.port()));
        return ports;
    }

    /** Classes of its hosts' traffic to begin with. */
    public List<TrafficRule> rules() {
        return rules;
    }
}
