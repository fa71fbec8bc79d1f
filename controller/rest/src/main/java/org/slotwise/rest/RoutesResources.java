// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slotwise.control.LightTold;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.RoutesCodec;
import org.slotwise.routes.CapacityChosen;
import org.slotwise.routes.RoutesApp;
import org.slotwise.routes.RoutesView;

/** What routers have, the capacities that XCP reckons with, and which ports have light. */
public final class RoutesResources implements AppResources {
    private static final String CAPACITIES = "capacities";
    private static final String PORTS = "ports";

    private final Supplier<RoutesView> view;
    private final Consumer<CapacityChosen> choose;
    private final Consumer<LightTold> tell;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();

    /** Takes what the application shows now, and what gives it orders; all may be called from any thread. */
    public RoutesResources(Supplier<RoutesView> view, Consumer<CapacityChosen> choose, Consumer<LightTold> tell) {
        this.view = view;
        this.choose = choose;
        this.tell = tell;
        reads.put("status", () -> RoutesCodec.status(view.get()));
        reads.put("routes", () -> RoutesCodec.routes(view.get()));
        reads.put(CAPACITIES, () -> RoutesCodec.capacities(view.get()));
        reads.put(PORTS, () -> RoutesCodec.ports(view.get()));
    }

    @Override
    public String id() {
        return RoutesApp.ID;
    }

    @Override
    public String description() {
        return "Routers: fixed routes or shortest paths, capacities of XCP, light of ports.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Change> changes() {
        return Map.of(CAPACITIES, this::change, PORTS, this::light);
    }

    private JsonNode change(JsonNode body) throws InvalidJsonException {
        CapacityChosen choice = RoutesCodec.capacity(view.get(), body);
        choose.accept(choice);
        return RoutesCodec.capacity(choice.device(), choice.port(), choice.bps());
    }

    private JsonNode light(JsonNode body) throws InvalidJsonException {
        LightTold told = RoutesCodec.light(view.get(), body);
        tell.accept(told);
        return RoutesCodec.port(told.device(), told.port(), told.isUp());
    }
}
