// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.WireConstants;

/** What edges have of their own: queues, and fibres from one to another. Pure. */
public final class OpsEdges {
    /** Optical ports of an edge: {@code edge.p4} knows so many. */
    private static final int OUTPUTS = WireConstants.MAX_OUTPUTS;

    private OpsEdges() {
    }

    /**
     * Queue of an edge for what goes to another one and is of a class. Numbers that are ports of outputs are left out: ticks of agents have
     * those.
     */
    public static int queue(OpsTraffic traffic, int edge, int trafficClass) {
        int number = edge * traffic.classCount() + trafficClass;
        return number < WireConstants.PORT_OPTICAL_BASE ? number : number + OUTPUTS;
    }

    /** Fibres from one edge to another, the first choice first: numbers here and there. The first one of each end is the same, and so on. */
    static List<int[]> direct(OpsEdge from, OpsEdge to) {
        List<Integer> here = fibres(from, to);
        List<Integer> there = fibres(to, from);
        List<int[]> ends = new ArrayList<>();
        for (int i = 0; i < here.size(); i++) {
            ends.add(new int[] {here.get(i), there.get(i)});
        }
        return ends;
    }

    private static List<Integer> fibres(OpsEdge from, OpsEdge to) {
        return from.direct().stream().filter(fibre -> fibre.to() == to.number()).map(OpsEdge.Direct::fibre).collect(Collectors.toList());
    }

    /** Throws {@link InvalidNetworkException} if fibres between edges, queues of flows or agents do not fit; {@code given} is in the order of places. */
    static void check(OpsSettings settings, List<OpsEdge> edges, List<OpsEdge> given) {
        OpsTraffic traffic = settings.traffic();
        int queues = queue(traffic, edges.size() - 1, traffic.classCount() - 1) + 1;
        if (queues > WireConstants.SIGNALING_QUEUE) {
            throw new InvalidNetworkException("classes", edges.size() + " edges with " + traffic.classCount()
                    + " classes use queues up to " + (queues - 1) + "; expected at most " + (WireConstants.SIGNALING_QUEUE - 1));
        }
        for (String name : traffic.aggregating()) {
            if (edges.stream().noneMatch(edge -> edge.name().equals(name))) {
                throw new InvalidNetworkException("aggregation.edges", "unknown edge '" + name + "'");
            }
        }
        for (int i = 0; i < given.size(); i++) {
            OpsEdge edge = given.get(i);
            String where = "edges[" + i + "]";
            checkFibres(where, settings, edges, edge);
            checkFlows(where, edges, edge, queues);
            if (edge.hasAgents() && settings.probes().isEmpty()) {
                throw new InvalidNetworkException(where + ".agents", "requires 'probes'");
            }
        }
    }

    private static void checkFibres(String where, OpsSettings settings, List<OpsEdge> edges, OpsEdge edge) {
        Set<Integer> numbers = new HashSet<>();
        for (int i = 0; i < edge.direct().size(); i++) {
            OpsEdge.Direct fibre = edge.direct().get(i);
            String place = where + ".fibres[" + i + "]";
            Ranges.check(place + ".fibre", fibre.fibre(), 0, (OUTPUTS >> settings.fibreShift()) - 1L);
            Ranges.check(place + ".to", fibre.to(), 0, edges.size() - 1L);
            if (!numbers.add(fibre.fibre())) {
                throw new InvalidNetworkException(place + ".fibre", "duplicate " + fibre.fibre());
            }
            if (fibre.to() == edge.number()) {
                throw new InvalidNetworkException(place + ".to", "both ends are '" + edge.name() + "'; expected two edges");
            }
            OpsEdge other = edges.get(fibre.to());
            if (fibres(edge, other).size() != fibres(other, edge).size()) {
                throw new InvalidNetworkException(place + ".to", "'" + edge.name() + "' has " + fibres(edge, other).size() + " fibres to '"
                        + other.name() + "'; expected " + fibres(other, edge).size() + ", as in the other direction");
            }
        }
    }

    private static void checkFlows(String where, List<OpsEdge> edges, OpsEdge edge, int firstQueue) {
        Set<String> flows = new HashSet<>();
        Set<Integer> queues = new HashSet<>();
        for (int i = 0; i < edge.flowQueues().size(); i++) {
            OpsFlowQueue flow = edge.flowQueues().get(i);
            String place = where + ".flow_queues[" + i + "]";
            Ranges.check(place + ".dst_edge", flow.dstEdge(), 0, edges.size() - 1L);
            boolean isOutput = flow.queue() >= WireConstants.PORT_OPTICAL_BASE && flow.queue() < WireConstants.PORT_OPTICAL_BASE + OUTPUTS;
            if (flow.queue() < firstQueue || isOutput) {
                throw new InvalidNetworkException(place + ".queue", "expected a queue of at least " + firstQueue + " outside "
                        + WireConstants.PORT_OPTICAL_BASE + " .. " + (WireConstants.PORT_OPTICAL_BASE + OUTPUTS - 1) + " (outputs), got " + flow.queue());
            }
            if (!queues.add(flow.queue())) {
                throw new InvalidNetworkException(place + ".queue", "duplicate " + flow.queue());
            }
            if (!flows.add(flow.flow())) {
                throw new InvalidNetworkException(place, "duplicate queue for " + flow.flow());
            }
        }
    }
}
