// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slotwise.control.SwitchStatus;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.routes.model.Route;
import org.slotwise.systems.routes.model.RoutedNetwork;

/** What a {@link RoutesApp} shows of itself. Immutable. */
public final class RoutesView {
    private final RoutedNetwork network;
    private final boolean configured;
    private final Map<DeviceId, RouterView> routers = new LinkedHashMap<>();
    private final long reroutes;
    private final long writeFailures;

    /** One router. */
    public static final class RouterView extends SwitchStatus {
        private final List<Route> routes;
        private final Map<Integer, Long> xcpBps;

        RouterView(SwitchStatus status, List<Route> routes, Map<Integer, Long> xcpBps) {
            super(status);
            this.routes = List.copyOf(routes);
            this.xcpBps = Collections.unmodifiableMap(new LinkedHashMap<>(xcpBps));
        }

        /** Its routes. */
        public List<Route> routes() {
            return routes;
        }

        /** Capacities that XCP reckons with, bit/s by port. */
        public Map<Integer, Long> xcpBps() {
            return xcpBps;
        }

    }

    RoutesView(RoutedNetwork network, boolean configured, Map<DeviceId, RouterView> routers, long reroutes, long writeFailures) {
        this.network = network;
        this.configured = configured;
        this.routers.putAll(routers);
        this.reroutes = reroutes;
        this.writeFailures = writeFailures;
    }

    /** The network. */
    public RoutedNetwork network() {
        return network;
    }

    /** Whether each router has had its tables, at least once. */
    public boolean isConfigured() {
        return configured;
    }

    /** Each router. */
    public Map<DeviceId, RouterView> routers() {
        return Collections.unmodifiableMap(routers);
    }

    /** How often routes have changed since links came or went. */
    public long reroutes() {
        return reroutes;
    }

    /** Batches that a router refused. */
    public long writeFailures() {
        return writeFailures;
    }
}
