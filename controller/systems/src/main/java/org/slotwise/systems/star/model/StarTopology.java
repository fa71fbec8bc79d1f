// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import org.slotwise.control.topology.Lane;
import org.slotwise.control.topology.Link;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;
import org.slotwise.wire.WireConstants;

/** Cores, edges and fibres as switches and links. */
public final class StarTopology {
    /** Name of the program of an edge. */
    public static final String EDGE = "edge";
    /** Name of the program of a core. */
    public static final String CORE = "core";

    private StarTopology() {
    }

    /** Cores, then edges; edges that share a port of a core each have a link to it. */
    public static Topology of(Network network) {
        Topology.Builder topology = new Topology.Builder();
        network.cores().forEach(core -> topology.node(new Node(core.device(), CORE + core.id(), CORE)));
        for (Edge edge : network.edges()) {
            topology.node(new Node(edge.device(), EDGE + edge.id(), EDGE));
            edge.hosts().forEach(host -> topology.host(edge.device(), host));
            for (Fibre fibre : edge.fibres()) {
                topology.link(link(network, edge, fibre));
            }
        }
        return topology.build();
    }

    private static Link link(Network network, Edge edge, Fibre fibre) {
        Core core = network.cores().stream().filter(other -> other.id().equals(fibre.core())).findFirst().orElseThrow();
        int corePort = WireConstants.PORT_OPTICAL_BASE + edge.corePort(core.id());
        return new Link(
                new Lane(edge.device(), fibre.port(), core.device(), corePort, fibre.rateBps(), fibre.delayNs()),
                new Lane(core.device(), corePort, edge.device(), fibre.port(), fibre.rateBps(), fibre.delayNs()));
    }
}
