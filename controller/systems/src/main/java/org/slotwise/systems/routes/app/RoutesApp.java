// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.Ownership;
import org.slotwise.control.PathApp;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.systems.routes.model.Prefix;
import org.slotwise.systems.routes.model.Route;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.systems.routes.model.Router;

/**
 * The application of routers: fixed routes or shortest paths, found anew when a link is lost or comes back, and the capacities that
 * XCP reckons with. Ways are found once for all that happened to links at one time, since both ends of a link tell. A change is written
 * to each router as soon as that has answered the one before; routers change one after the other, so for a few batches a packet may
 * go around.
 */
public final class RoutesApp extends PathApp<RoutesApp.State, RoutesView> {
    /** Its name. */
    public static final String ID = "routes";

    private final RoutedNetwork network;
    private final RouteTables tables;
    private Map<DeviceId, List<Route>> routes;

    /** One router. */
    static final class State extends KeptSwitch {
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
        super(ID, network.topology(), Ownership.tablesOf(network.routers().keySet(),
                List.of(RouteTables.PARAMS, RouteTables.ROUTE, RouteTables.XCP_OUTPUT)));
        this.network = network;
        this.tables = new RouteTables(network);
        network.routers().values().forEach(router -> add(new State(router)));
        this.routes = tables.routes(this::hasLight);
    }

    @Override
    protected boolean leadsBy(State state, int port) {
        return state.router.port(port).isPresent();
    }

    @Override
    protected ToIntFunction<State> findPaths() {
        Map<DeviceId, List<Route>> before = routes;
        routes = tables.routes(this::hasLight);
        return state -> differences(before.get(state.id()), routes.get(state.id()));
    }

    @Override
    protected String paths() {
        return "routes";
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
        return state(device).map(state -> !state.dark().contains(port)).orElse(true);
    }

    /** Sets the XCP capacity of an output; ignores an output without XCP. */
    public void setCapacity(SwitchPort output, long bps) {
        state(output.device()).filter(state -> state.xcpBps.containsKey(output.port())).ifPresent(state -> {
            if (state.xcpBps.put(output.port(), bps) != bps) {
                state.change();
            }
        });
    }

    /** Never empty: the default entry is not read. */
    @Override
    protected List<Update> changes(State state) {
        return state.tables().changesTo(tables.entries(state.router, routes.get(state.id()), state.xcpBps), entry -> true);
    }

    @Override
    public RoutesView view() {
        Map<DeviceId, RoutesView.RouterView> shown = new LinkedHashMap<>();
        states().forEach(state -> shown.put(state.id(), new RoutesView.RouterView(status(state), routes.get(state.id()), state.xcpBps)));
        return new RoutesView(network, isConfigured(), shown, reroutes(), writeFailures());
    }
}
