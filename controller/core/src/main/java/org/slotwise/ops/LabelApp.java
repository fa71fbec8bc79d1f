// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ops;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.LightChanges;
import org.slotwise.control.LightTold;
import org.slotwise.control.Ownership;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Topology;

/**
 * The application of optical packet switching: where labels go, ranked and found anew when fibres are lost or come back, what agents aim
 * at, and what edges make of packets: classes, queues, trains, macroflows. What has changed is written to each switch in one batch, as soon as that has answered the one before; until
 * then trains for a fibre without light are deflected, which needs no controller.
 */
public final class LabelApp implements App<LabelView> {
    /** Its name. */
    public static final String ID = "ops";

    private final OpsNetwork network;
    private final Topology topology;
    private final Ownership owns;
    private final OpsTables tables;
    private final EdgeTables edgeTables;
    /** Of classes, by number; none where edges are not fair. */
    private final SortedMap<Integer, Double> weights = new TreeMap<>();
    private final LightChanges light = new LightChanges();
    /** Switches by number, then edges by number. */
    private final Map<DeviceId, State> states = new LinkedHashMap<>();
    private Ranks ranks;
    private long lastBatch;
    private long reroutes;
    private long writeFailures;
    private List<Command> commands = new ArrayList<>();

    /** One switch, or one edge. */
    private static final class State extends KeptSwitch {
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

    /** Takes a network, of which all fibres have light. */
    public LabelApp(OpsNetwork network) {
        this.network = network;
        this.topology = network.topology();
        this.owns = Ownership.tablesOf(network.switchDevices(), OpsTables.OF_SWITCHES)
                .and(Ownership.tablesOf(network.edgeDevices(), EdgeTables.ALL));
        this.tables = new OpsTables(network);
        this.edgeTables = new EdgeTables(network);
        if (network.settings().traffic().isFair()) {
            network.settings().traffic().classes().forEach((number, each) -> weights.put(number, each.weight()));
        }
        for (int number = 0; number < network.switches().size(); number++) {
            State state = new State(network.switches().get(number).device(), number, Optional.empty());
            if (network.settings().probes().isPresent()) {
                network.dataPorts(number).forEach(port -> state.targets.put(port, network.settings().target()));
            }
            states.put(state.id(), state);
        }
        network.edges().forEach(edge -> states.put(edge.device(), new State(edge.device(), edge.number(), Optional.of(edge))));
        this.ranks = ranks();
        states.values().forEach(state -> state.ways = state.edge.map(this::ways).orElse(Map.of()));
    }

    private Ranks ranks() {
        return new Ranks(network, (number, fibre) -> isDark(network.switches().get(number).device(), fibre),
                (edge, fibre) -> isDark(edge.device(), fibre));
    }

    /** A fibre has light if all of its ports have: they go dark together. */
    private boolean isDark(DeviceId device, int fibre) {
        for (int wavelength = 0; wavelength < network.settings().ports(); wavelength++) {
            if (states.get(device).dark().contains(network.settings().port(fibre, wavelength))) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String id() {
        return ID;
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public Ownership owns() {
        return owns;
    }

    /** Neither switches nor edges send the controller anything. */
    @Override
    public boolean claims(Event.PacketIn packet) {
        return false;
    }

    @Override
    public List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        if (event instanceof Event.AtDevice) {
            DeviceId device = ((Event.AtDevice) event).device();
            State state = states.get(device);
            if (state == null) {
                throw new IllegalArgumentException("device " + device + " is not in this network");
            }
            onDeviceEvent(nowNs, state, (Event.AtDevice) event);
        } else if (event instanceof Event.DeadlineReached) {
            light.take().ifPresent(this::reroute);
        } else if (event instanceof TargetChosen) {
            choose((TargetChosen) event);
        } else if (event instanceof WeightChosen) {
            weigh((WeightChosen) event);
        } else if (event instanceof LightTold) {
            LightTold told = (LightTold) event;
            // Whoever checked it may have seen the network before this one.
            Optional.ofNullable(states.get(told.device())).ifPresent(state -> onPort(nowNs, state, told.port(), told.isUp()));
        }
        states.values().forEach(this::write);
        return commands;
    }

    private void onDeviceEvent(long nowNs, State state, Event.AtDevice event) {
        if (state.hear(event)) {
            writeFailures++;
            commands.add(new Command.ReadTables(state.id()));
        } else if (event instanceof Event.PortChanged) {
            Event.PortChanged change = (Event.PortChanged) event;
            onPort(nowNs, state, change.port(), change.isUp());
        }
    }

    private void onPort(long nowNs, State state, int port, boolean isUp) {
        if (network.opticalPorts(state.id()).contains(port)) {
            light.note(nowNs, state.dark(), state.id(), port, isUp);
        }
    }

    private void reroute(String cause) {
        Ranks next = ranks();
        int different = 0;
        for (State state : states.values()) {
            int own = state.edge.map(edge -> newWays(state, edge)).orElseGet(() -> ranks.differences(next, state.number));
            if (own > 0) {
                state.change();
            }
            different += own;
        }
        ranks = next;
        if (different > 0) {
            reroutes++;
            commands.add(new RanksChanged(cause, different));
        }
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

    private void choose(TargetChosen choice) {
        State state = states.get(choice.device());
        // Whoever checked it may have seen the network before this one.
        if (state != null && state.targets.containsKey(choice.port()) && state.targets.put(choice.port(), choice.target()) != choice.target()) {
            state.change();
        }
    }

    private void weigh(WeightChosen choice) {
        // Whoever checked it may have seen the network before this one.
        if (weights.containsKey(choice.trafficClass()) && weights.put(choice.trafficClass(), choice.weight()) != choice.weight()) {
            states.values().stream().filter(state -> state.edge.isPresent()).forEach(State::change);
        }
    }

    private void write(State state) {
        if (!state.takeChange()) {
            return;
        }
        List<TableEntry> wanted = state.edge.map(edge -> edgeTables.of(edge, weights, state.ways))
                .orElseGet(() -> tables.ofSwitch(state.number, state.targets, ranks));
        List<Update> updates = state.changesTo(wanted);
        if (!updates.isEmpty()) {
            commands.add(state.startWrite(++lastBatch, updates));
        }
    }

    /** At once, after what has happened already. */
    @Override
    public OptionalLong nextDeadlineNs() {
        return light.deadlineNs();
    }

    @Override
    public boolean isConfigured() {
        return states.values().stream().allMatch(KeptSwitch::isConfigured);
    }

    @Override
    public LabelView view() {
        Map<DeviceId, LabelView.NodeView> nodes = new LinkedHashMap<>();
        states.forEach((device, state) -> nodes.put(device, new LabelView.NodeView(state.isReady(),
                !light.isPending() && state.isCurrent(), state.dark(), state.targets, routes(state))));
        return new LabelView(network, isConfigured(), nodes, weights, reroutes, writeFailures);
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
