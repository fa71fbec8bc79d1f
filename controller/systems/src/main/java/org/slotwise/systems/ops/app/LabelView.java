// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slotwise.control.SwitchStatus;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.ops.model.OpsNetwork;

/** What a {@link LabelApp} shows of itself. Immutable. */
public final class LabelView {
    private final OpsNetwork network;
    private final boolean configured;
    private final Map<DeviceId, NodeView> nodes = new LinkedHashMap<>();
    private final SortedMap<Integer, Double> weights = new TreeMap<>();
    private final long reroutes;
    private final long writeFailures;

    /** One switch, or one edge. */
    public static final class NodeView extends SwitchStatus {
        private final Map<Integer, Double> targets;
        private final Map<Integer, List<Integer>> routes;

        NodeView(SwitchStatus status, Map<Integer, Double> targets, Map<Integer, List<Integer>> routes) {
            super(status);
            this.targets = Collections.unmodifiableMap(new TreeMap<>(targets));
            this.routes = Collections.unmodifiableMap(new TreeMap<>(routes));
        }

        /** Parts of an output's rate that agents aim at, by port; of a switch with agents. */
        public Map<Integer, Double> targets() {
            return targets;
        }

        /** Next fibres, the best one first, by number of the edge; of a switch or an edge without one, and none to an edge that cannot be reached. */
        public Map<Integer, List<Integer>> routes() {
            return routes;
        }
    }

    LabelView(OpsNetwork network, boolean configured, Map<DeviceId, NodeView> nodes, SortedMap<Integer, Double> weights, long reroutes,
            long writeFailures) {
        this.network = network;
        this.configured = configured;
        this.nodes.putAll(nodes);
        this.weights.putAll(weights);
        this.reroutes = reroutes;
        this.writeFailures = writeFailures;
    }

    /** The network. */
    public OpsNetwork network() {
        return network;
    }

    /** Whether each switch and edge has had its tables, at least once. */
    public boolean isConfigured() {
        return configured;
    }

    /** Switches by number, then edges by number. */
    public Map<DeviceId, NodeView> nodes() {
        return Collections.unmodifiableMap(nodes);
    }

    /** Of classes by number, where edges share outputs by weight; none elsewhere. */
    public SortedMap<Integer, Double> weights() {
        return Collections.unmodifiableSortedMap(weights);
    }

    /** How often routes have changed since fibres were lost or came back. */
    public long reroutes() {
        return reroutes;
    }

    /** Batches that a switch or an edge refused. */
    public long writeFailures() {
        return writeFailures;
    }
}
