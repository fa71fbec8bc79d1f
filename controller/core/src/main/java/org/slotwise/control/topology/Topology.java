// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Switches, what joins them, and hosts. Immutable. */
public final class Topology {
    private final List<Node> nodes;
    private final List<Link> links;
    private final Map<DeviceId, List<Host>> hosts;

    private Topology(List<Node> nodes, List<Link> links, Map<DeviceId, List<Host>> hosts) {
        this.nodes = List.copyOf(nodes);
        this.links = List.copyOf(links);
        Map<DeviceId, List<Host>> copy = new LinkedHashMap<>();
        hosts.forEach((device, own) -> copy.put(device, List.copyOf(own)));
        this.hosts = copy;
    }

    /** Collects. */
    public static final class Builder {
        private final Map<DeviceId, Node> nodes = new LinkedHashMap<>();
        private final List<Link> links = new ArrayList<>();
        private final Map<Ipv4Address, Located> hosts = new LinkedHashMap<>();

        private static final class Located {
            private final DeviceId device;
            private final Host host;

            Located(DeviceId device, Host host) {
                this.device = device;
                this.host = host;
            }
        }

        /** Adds a switch; throws IllegalArgumentException if it is there with another name or program. */
        public Builder node(Node node) {
            Node other = nodes.putIfAbsent(node.device(), node);
            if (other != null && !other.equals(node)) {
                throw new IllegalArgumentException("device " + node.device() + ": conflicting definitions " + other + " and " + node);
            }
            return this;
        }

        /** Adds a link. */
        public Builder link(Link link) {
            links.add(link);
            return this;
        }

        /** Adds a host of a switch; an address that is there already is where it is said last. */
        public Builder host(DeviceId device, Host host) {
            hosts.remove(host.ip());
            hosts.put(host.ip(), new Located(device, host));
            return this;
        }

        /** The topology. */
        public Topology build() {
            Map<DeviceId, List<Host>> byDevice = new LinkedHashMap<>();
            hosts.values().forEach(host -> byDevice.computeIfAbsent(host.device, any -> new ArrayList<>()).add(host.host));
            return new Topology(new ArrayList<>(nodes.values()), links, byDevice);
        }
    }

    /**
     * Several as one. A host that two know is where the later one says: the one before knows only the switch through which it is
     * reached. Throws IllegalArgumentException if a switch has two names or programs.
     */
    public static Topology union(List<Topology> parts) {
        Builder union = new Builder();
        for (Topology part : parts) {
            part.nodes.forEach(union::node);
            part.links.forEach(union::link);
            part.hosts.forEach((device, hosts) -> hosts.forEach(host -> union.host(device, host)));
        }
        return union.build();
    }

    /** The switches, in order. */
    public List<Node> nodes() {
        return nodes;
    }

    /** The links, in order. */
    public List<Link> links() {
        return links;
    }

    /** The hosts at a switch, in order. */
    public List<Host> hostsOf(DeviceId device) {
        return hosts.getOrDefault(device, List.of());
    }
}
