// SPDX-License-Identifier: Apache-2.0
package org.slotwise.routes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.LightChanges;
import org.slotwise.control.LightTold;
import org.slotwise.control.Ownership;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Topology;

/**
 * The application of routers: fixed routes or shortest paths, found anew when a link is lost or comes back, and the capacities that
 * XCP reckons with. Ways are found once for all that happened to links at one time, since both ends of a link tell. A change is written
 * to each router as soon as that has answered the one before; routers change one after the other, so for a few batches a packet may
 * go around.
 */
public final class RoutesApp implements App<RoutesView> {
    /** Its name. */
    public static final String ID = "routes";

    private final RoutedNetwork network;
    private final Topology topology;
    private final Ownership owns;
    private final RouteTables tables;
    private final Map<DeviceId, State> states = new LinkedHashMap<>();
    private Map<DeviceId, List<Route>> routes;
    private final LightChanges light = new LightChanges();
    private long lastBatch;
    private long reroutes;
    private long writeFailures;
    private List<Command> commands = new ArrayList<>();

    /** One router. */
    private static final class State extends KeptSwitch {
        private final Router router;
        private final Map<Integer, Long> xcpBps = new TreeMap<>();

        State(Router router) {
            super(router.device());
            this.router = router;
            router.ports().forEach(port -> port.xcpBps().ifPresent(bps -> xcpBps.put(port.number(), bps)));
        }
    }

    /** Takes the routers, of which all links have light. */
    public RoutesApp(RoutedNetwork network) {
        this.network = network;
        this.topology = network.topology();
        this.owns = Ownership.tablesOf(network.routers().keySet(),
                List.of(RouteTables.PARAMS, RouteTables.ROUTE, RouteTables.XCP_OUTPUT));
        this.tables = new RouteTables(network);
        network.routers().values().forEach(router -> states.put(router.device(), new State(router)));
        this.routes = tables.routes(this::hasLight);
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

    /** Routers send the controller nothing. */
    @Override
    public boolean claims(Event.PacketIn packet) {
        return false;
    }

    @Override
    public List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        if (event instanceof Event.AtDevice) {
            State state = states.get(((Event.AtDevice) event).device());
            if (state == null) {
                throw new IllegalArgumentException("device " + ((Event.AtDevice) event).device() + " is not in this network");
            }
            onDeviceEvent(nowNs, state, (Event.AtDevice) event);
        } else if (event instanceof Event.DeadlineReached) {
            reroute();
        } else if (event instanceof CapacityChosen) {
            choose((CapacityChosen) event);
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
        if (state.router.port(port).isPresent()) {
            light.note(nowNs, state.dark(), state.id(), port, isUp);
        }
    }

    private void reroute() {
        light.take().ifPresent(this::reroute);
    }

    private void reroute(String cause) {
        Map<DeviceId, List<Route>> next = tables.routes(this::hasLight);
        int different = 0;
        for (State state : states.values()) {
            int own = differences(routes.get(state.id()), next.get(state.id()));
            if (own > 0) {
                state.change();
            }
            different += own;
        }
        routes = next;
        if (different > 0) {
            reroutes++;
            commands.add(new Rerouted(cause, different));
        }
    }

    /** Prefixes whose route is another one, came or went. */
    private static int differences(List<Route> before, List<Route> after) {
        Map<Prefix, Route> left = new HashMap<>();
        before.forEach(route -> left.put(route.prefix(), route));
        int different = 0;
        for (Route route : after) {
            different += route.equals(left.remove(route.prefix())) ? 0 : 1;
        }
        return different + left.size();
    }

    private boolean hasLight(DeviceId device, int port) {
        State state = states.get(device);
        return state == null || !state.dark().contains(port);
    }

    private void choose(CapacityChosen choice) {
        State state = states.get(choice.device());
        // Whoever checked it may have seen the network before this one.
        if (state != null && state.xcpBps.containsKey(choice.port()) && state.xcpBps.put(choice.port(), choice.bps()) != choice.bps()) {
            state.change();
        }
    }

    private void write(State state) {
        if (!state.takeChange()) {
            return;
        }
        List<Update> updates = state.tables().changesTo(
                tables.entries(state.router, routes.get(state.id()), state.xcpBps), entry -> true);
        // Never empty: the default entry is not read.
        commands.add(state.startWrite(++lastBatch, updates));
    }

    @Override
    public OptionalLong nextDeadlineNs() {
        return light.deadlineNs();
    }

    @Override
    public boolean isConfigured() {
        return states.values().stream().allMatch(KeptSwitch::isConfigured);
    }

    @Override
    public RoutesView view() {
        Map<DeviceId, RoutesView.RouterView> shown = new LinkedHashMap<>();
        states.forEach((device, state) -> shown.put(device, new RoutesView.RouterView(state.isReady(),
                !light.isPending() && state.isCurrent(), routes.get(device), state.xcpBps, state.dark())));
        return new RoutesView(network, isConfigured(), shown, reroutes, writeFailures);
    }
}
