// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slotwise.control.LightTold;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.RingCodec;
import org.slotwise.rest.json.RoutesCodec;
import org.slotwise.ring.FairnessApp;
import org.slotwise.ring.RingChoice;
import org.slotwise.ring.RingNetwork;
import org.slotwise.ring.RingView;

/** The stations of a packet ring, its ways and congested spans, and what can be changed while it runs. */
public final class RingResources implements AppResources {
    private final Supplier<RingView> view;
    private final Consumer<RingChoice> choose;
    private final Consumer<LightTold> tell;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();
    private final Map<String, Change> changes = new LinkedHashMap<>();

    /** Reads a choice; throws for what makes no sense. */
    private interface Choice {
        RingChoice read(RingNetwork network, JsonNode body) throws InvalidJsonException;
    }

    /** Takes what the application shows now, and what gives it orders; all may be called from any thread. */
    public RingResources(Supplier<RingView> view, Consumer<RingChoice> choose, Consumer<LightTold> tell) {
        this.view = view;
        this.choose = choose;
        this.tell = tell;
        show("status", RingCodec::status);
        show("stations", RingCodec::stations);
        show("ways", RingCodec::ways);
        show("spans", RingCodec::spans);
        show("mode", RingCodec::mode);
        changes.put("mode", body -> chosen((network, value) -> RingCodec.modeChoice(value), body));
        show("weights", RingCodec::weights);
        changes.put("weights", body -> chosen(RingCodec::weightChoice, body));
        show("classes", RingCodec::classes);
        changes.put("classes", body -> chosen(RingCodec::classesChoice, body));
        show("ports", RingCodec::ports);
        changes.put("ports", this::light);
    }

    private void show(String name, Function<RingView, JsonNode> shown) {
        reads.put(name, () -> shown.apply(view.get()));
    }

    @Override
    public String id() {
        return FairnessApp.ID;
    }

    @Override
    public String description() {
        return "Packet ring: stations, ways around it, spans of congested links, weights and classes.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Change> changes() {
        return changes;
    }

    private JsonNode chosen(Choice choice, JsonNode body) throws InvalidJsonException {
        RingChoice chosen = choice.read(view.get().network(), body);
        choose.accept(chosen);
        return RingCodec.encode(chosen);
    }

    private JsonNode light(JsonNode body) throws InvalidJsonException {
        LightTold told = RingCodec.light(view.get().network(), body);
        tell.accept(told);
        return RoutesCodec.port(told.device(), told.port(), told.isUp());
    }
}
