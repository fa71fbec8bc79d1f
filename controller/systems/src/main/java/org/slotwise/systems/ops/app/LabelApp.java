// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.Ownership;
import org.slotwise.control.PathApp;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsNetwork;

/**
 * The application of optical packet switching: where labels go, ranked and found anew when fibres are lost or come back, what agents aim
 * at, and what edges make of packets: classes, queues, trains, macroflows. What has changed is written to each switch in one batch, as soon as that has answered the one before; until
 * then trains for a fibre without light are deflected, which needs no controller.
 */
public final class LabelApp extends PathApp<LabelApp.State, LabelView> {
    /** Its name. */
    public static final String ID = "ops";

    private final OpsNetwork network;
    private final OpsTables tables;
    private final EdgeTables edgeTables;
    /** Of classes, by number; none where edges are not fair. */
    private final SortedMap<Integer, Double> weights = new TreeMap<>();
    private Ranks ranks;

    /** One switch, or one edge. */
    static final class State extends KeptSwitch {
        private final int number;
        /** Of an edge: it. */
        private final Optional<OpsEdge> edge;
        /** What agents aim at, by port. */
        private final Map<Integer, Double> targets = new TreeMap<>();
        /** Of an edge without a switch: its fibres with light to the others. */
        private Map<Integer, List<Integer>> ways = Map.of();

        State(DeviceId device, int number, Optional<OpsEdge> edge) {
            super(device);
            this.number = number;
            this.edge = edge;
        }
    }

    /** Takes a network, of which all fibres have light: switches by number, then edges by number. */
    public LabelApp(OpsNetwork network) {
        super(ID, network.topology(), Ownership.tablesOf(network.switchDevices(), OpsTables.OF_SWITCHES)
                .and(Ownership.tablesOf(network.edgeDevices(), EdgeTables.ALL)));
        this.network = network;
        this.tables = new OpsTables(network);
        this.edgeTables = new EdgeTables(network);
        if (network.settings().traffic().isFair()) {
            network.settings().traffic().classes().forEach((number, each) -> weights.put(number, each.weight()));
        }
        for (int number = 0; number < network.switches().size(); number++) {
            State state = new State(network.switches().get(number).device(), number, Optional.empty());
            if (network.settings().hasAgents()) {
                network.dataPorts(number).forEach(port -> state.targets.put(port, network.settings().target()));
            }
            add(state);
        }
        network.edges().forEach(edge -> add(new State(edge.device(), edge.number(), Optional.of(edge))));
        this.ranks = ranks();
        states().forEach(state -> state.ways = state.edge.map(this::ways).orElse(Map.of()));
    }

    private Ranks ranks() {
        return new Ranks(network, (number, fibre) -> isDark(network.switches().get(number).device(), fibre),
                (edge, fibre) -> isDark(edge.device(), fibre));
    }

    /** A fibre has light if all of its ports have: they go dark together. */
    private boolean isDark(DeviceId device, int fibre) {
        for (int wavelength = 0; wavelength < network.settings().ports(); wavelength++) {
            if (state(device).orElseThrow().dark().contains(network.settings().port(fibre, wavelength))) {
                return true;
            }
        }
        return false;
    }

    @Override
    protected boolean leadsBy(State state, int port) {
        return network.opticalPorts(state.id()).contains(port);
    }

    @Override
    protected ToIntFunction<State> findPaths() {
        Ranks before = ranks;
        ranks = ranks();
        return state -> state.edge.map(edge -> newWays(state, edge)).orElseGet(() -> before.differences(ranks, state.number));
    }

    @Override
    protected String paths() {
        return "label routes";
    }

    /** How many edges an edge without a switch reaches otherwise now. */
    private int newWays(State state, OpsEdge edge) {
        Map<Integer, List<Integer>> next = ways(edge);
        int different = 0;
        for (OpsEdge other : network.edges()) {
            different += Objects.equals(next.get(other.number()), state.ways.get(other.number())) ? 0 : 1;
        }
        state.ways = next;
        return different;
    }

    /** By number, the edges that one without a switch reaches, and its fibres to them. */
    private Map<Integer, List<Integer>> ways(OpsEdge edge) {
        Map<Integer, List<Integer>> ways = new TreeMap<>();
        if (edge.isDirect()) {
            network.edges().forEach(other -> ways.put(other.number(), network.direct(edge, other).stream()
                    .filter(ends -> !isDark(edge.device(), ends[0]) && !isDark(other.device(), ends[1]))
                    .map(ends -> ends[0]).collect(Collectors.toList())));
            ways.values().removeIf(List::isEmpty);
        }
        return ways;
    }

    /** Sets the target utilization of an output; ignores an output without an agent. */
    public void setTarget(SwitchPort output, double target) {
        state(output.device()).filter(state -> state.targets.containsKey(output.port())).ifPresent(state -> {
            if (state.targets.put(output.port(), target) != target) {
                state.change();
            }
        });
    }

    /** Sets the weight of a class; ignores an unknown class. */
    public void setWeight(int trafficClass, double weight) {
        if (weights.containsKey(trafficClass) && weights.put(trafficClass, weight) != weight) {
            states().stream().filter(state -> state.edge.isPresent()).forEach(State::change);
        }
    }

    @Override
    protected List<Update> changes(State state) {
        return state.changesTo(state.edge.map(edge -> edgeTables.of(edge, weights, state.ways))
                .orElseGet(() -> tables.ofSwitch(state.number, state.targets, ranks)));
    }

    @Override
    public LabelView view() {
        Map<DeviceId, LabelView.NodeView> nodes = new LinkedHashMap<>();
        states().forEach(state -> nodes.put(state.id(), new LabelView.NodeView(status(state), state.targets, routes(state))));
        return new LabelView(network, isConfigured(), nodes, weights, reroutes(), writeFailures());
    }

    private Map<Integer, List<Integer>> routes(State state) {
        Map<Integer, List<Integer>> routes = new TreeMap<>(state.ways);
        if (state.edge.isEmpty()) {
            network.edges().forEach(edge -> routes.put(edge.number(), ranks.fibres(state.number, edge)));
            routes.values().removeIf(List::isEmpty);
        }
        return routes;
    }
}
