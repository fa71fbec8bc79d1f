// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.PathMetrics;
import org.slotwise.rest.system.Ports;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.control.Event;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.rest.json.Shape;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.wire.Limits;

/** Routes of routers, the capacities that XCP reckons with, and which ports have light. */
final class RoutesResources {
    private static final Shape<SwitchPort> PORT = Ports.at(Limits.MIN_ROUTER_PORT, Limits.MAX_ROUTER_PORT);
    private static final Shape<Long> CAPACITY = Shape.integer("xcp_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);

    private RoutesResources() {
    }

    static ResourceTable<RoutesView> of(RoutedNetwork network) {
        return new ResourceTable<RoutesView>(RoutesApp.ID, "Routers: static routes or shortest paths, XCP capacities, port status.")
                .read("status", RoutesViews.STATUS)
                .read("nodes", RoutesViews.NODES)
                .read("routes", RoutesViews.ROUTES)
                .setting("capacities", "outputs", SystemSetting.each("capacity", "the XCP capacity of an output", PORT, CAPACITY, configured(network),
                        RoutesResources::capacities, (at, bps) -> Event.Call.of((RoutesApp app) -> app.setCapacity(at, bps)))
                        .unknown(at -> "no XCP-controlled port " + at.port() + " of router " + at.device()))
                .setting("ports", "ports", Ports.light(PORT, ports(network), RoutesResources::isDark)
                        .unknown(at -> "unknown port " + at.port() + " of router " + at.device()))
                .metrics(RoutesResources::metrics);
    }

    private static Map<SwitchPort, Long> configured(RoutedNetwork network) {
        Map<SwitchPort, Long> configured = new LinkedHashMap<>();
        network.routers().values().forEach(router -> router.ports().forEach(port ->
                port.xcpBps().ifPresent(bps -> configured.put(new SwitchPort(router.device(), port.number()), bps))));
        return configured;
    }

    private static Map<SwitchPort, Long> capacities(RoutesView view) {
        Map<SwitchPort, Long> capacities = new LinkedHashMap<>();
        view.routers().forEach((device, router) -> router.xcpBps().forEach((port, bps) -> capacities.put(new SwitchPort(device, port), bps)));
        return capacities;
    }

    private static List<SwitchPort> ports(RoutedNetwork network) {
        List<SwitchPort> ports = new ArrayList<>();
        network.routers().values().forEach(router -> router.ports().forEach(port -> ports.add(new SwitchPort(router.device(), port.number()))));
        return ports;
    }

    private static boolean isDark(RoutesView view, SwitchPort port) {
        return view.routers().get(port.device()).darkPorts().contains(port.port());
    }

    private static List<Metric> metrics(RoutesView view) {
        return PathMetrics.of(RoutesApp.ID, "routers", "Routers", "Routes", view.routers().values(), view.reroutes(), view.writeFailures());
    }
}
