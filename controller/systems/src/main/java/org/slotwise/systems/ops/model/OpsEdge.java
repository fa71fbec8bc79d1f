// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.List;
import java.util.Objects;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.MacAddress;

/**
 * A switch that runs {@code edge.p4} and makes trains, with one fibre to a switch of the network, or with fibres of its own to other
 * edges. Immutable.
 */
public final class OpsEdge {
    private static final int NO_SWITCH = -1;

    private final String name;
    private final DeviceId device;
    private final int number;
    private final MacAddress mac;
    private final int at;
    private final int fibre;
    private final long delayNs;
    private final List<Host> hosts;
    private final List<Direct> direct;
    private final boolean agents;
    private final List<OpsFlowQueue> flowQueues;

    /** A fibre to another edge. Immutable. */
    public static final class Direct {
        private final int fibre;
        private final int to;

        /** Takes its number here, and the other edge's number. */
        public Direct(int fibre, int to) {
            this.fibre = fibre;
            this.to = to;
        }

        /** Its number here. */
        public int fibre() {
            return fibre;
        }

        /** Number of the other edge. */
        public int to() {
            return to;
        }
    }

    /**
     * Takes what it has; {@link OpsNetwork} checks that it fits the rest.
     *
     * @param number by which labels name it
     * @param at number of its switch
     * @param fibre number of its fibre there; here it is 0
     */
    public OpsEdge(String name, DeviceId device, int number, MacAddress mac, int at, int fibre, long delayNs, List<Host> hosts) {
        this(name, device, number, mac, at, fibre, delayNs, hosts, List.of(), false, List.of());
    }

    private OpsEdge(String name, DeviceId device, int number, MacAddress mac, int at, int fibre, long delayNs, List<Host> hosts,
            List<Direct> direct, boolean agents, List<OpsFlowQueue> flowQueues) {
        this.name = Objects.requireNonNull(name);
        this.device = Objects.requireNonNull(device);
        this.number = number;
        this.mac = Objects.requireNonNull(mac);
        this.at = at;
        this.fibre = fibre;
        this.delayNs = delayNs;
        this.hosts = List.copyOf(hosts);
        this.direct = List.copyOf(direct);
        this.agents = agents;
        this.flowQueues = List.copyOf(flowQueues);
    }

    /** One without a switch; of several fibres to one edge the first one is the first choice. */
    public static OpsEdge direct(String name, DeviceId device, int number, MacAddress mac, List<Direct> fibres, List<Host> hosts) {
        return new OpsEdge(name, device, number, mac, NO_SWITCH, 0, 0, hosts, fibres, false, List.of());
    }

    /** The same edge, whose outputs have agents or not, with queues for flows. */
    public OpsEdge with(boolean hasAgents, List<OpsFlowQueue> queues) {
        return new OpsEdge(name, device, number, mac, at, fibre, delayNs, hosts, direct, hasAgents, queues);
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

    /** Whether its fibres lead to other edges. */
    public boolean isDirect() {
        return at == NO_SWITCH;
    }

    /** Its fibres to other edges, the first choice first; none if it is at a switch. */
    public List<Direct> direct() {
        return direct;
    }

    /** Whether its outputs have agents, which its macroflows ask first. */
    public boolean hasAgents() {
        return agents;
    }

    /** Flows that have queues of their own. */
    public List<OpsFlowQueue> flowQueues() {
        return flowQueues;
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
