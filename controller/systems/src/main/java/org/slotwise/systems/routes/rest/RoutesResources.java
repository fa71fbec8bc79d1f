// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.slotwise.apps.AppPage;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Metric;
import org.slotwise.apps.Running;
import org.slotwise.control.LightTold;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.PortCodec;
import org.slotwise.systems.routes.app.CapacityChosen;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.app.RoutesView;

/** What routers have, the capacities that XCP reckons with, and which ports have light. */
final class RoutesResources implements AppResources {
    private static final String CAPACITIES = "capacities";
    private static final String PORTS = "ports";

    private final Running<RoutesView> running;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();

    RoutesResources(Running<RoutesView> running) {
        this.running = running;
        reads.put("status", () -> RoutesCodec.status(running.view()));
        reads.put("routes", () -> RoutesCodec.routes(running.view()));
        reads.put(CAPACITIES, () -> RoutesCodec.capacities(running.view()));
        reads.put(PORTS, () -> RoutesCodec.ports(running.view()));
    }

    @Override
    public String id() {
        return RoutesApp.ID;
    }

    @Override
    public String description() {
        return "Routers: static routes or shortest paths, XCP capacities, port status.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Change> changes() {
        return Map.of(CAPACITIES, this::change, PORTS, this::light);
    }

    @Override
    public Optional<AppPage> page() {
        return Optional.of(RoutesPage.of(running.view()));
    }

    @Override
    public List<Metric> metrics() {
        RoutesView view = running.view();
        Collection<RoutesView.RouterView> routers = view.routers().values();
        return List.of(
                Metric.counter("routes_reroutes", "Routes changed by links going down or up.", view.reroutes()),
                Metric.counter("routes_write_failures", "Write batches rejected by a router.", view.writeFailures()),
                Metric.gauge("routes_routers", "Routers.", routers.size()),
                Metric.gauge("routes_routers_ready", "Routers connected.",
                        routers.stream().filter(RoutesView.RouterView::isReady).count()),
                Metric.gauge("routes_routers_settled", "Routers in sync (all routes and capacities acknowledged).",
                        routers.stream().filter(RoutesView.RouterView::isSettled).count()),
                Metric.gauge("routes_dark_ports", "Router ports down.",
                        routers.stream().mapToLong(router -> router.darkPorts().size()).sum()));
    }

    private JsonNode change(JsonNode body) throws InvalidJsonException {
        RoutesView view = running.view();
        CapacityChosen choice = RoutesCodec.capacity(view, body);
        running.choose(new KeptCapacity(view.network(), choice));
        return RoutesCodec.capacity(choice.device(), choice.port(), choice.bps());
    }

    private JsonNode light(JsonNode body) throws InvalidJsonException {
        LightTold told = RoutesCodec.light(running.view(), body);
        running.order(told);
        return PortCodec.port(told.device(), told.port(), told.isUp());
    }
}
