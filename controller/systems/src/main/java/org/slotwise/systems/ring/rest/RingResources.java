// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slotwise.apps.AppPage;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Metric;
import org.slotwise.apps.Running;
import org.slotwise.control.LightTold;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.PortCodec;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.RingChoice;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.RingNetwork;

/** The stations of a packet ring, its ways and congested spans, and what can be changed while it runs. */
public final class RingResources implements AppResources {
    private final Running<RingView> running;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();
    private final Map<String, Change> changes = new LinkedHashMap<>();

    /** Takes the application. */
    public RingResources(Running<RingView> running) {
        this.running = running;
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
        reads.put(name, () -> shown.apply(running.view()));
    }

    @Override
    public String id() {
        return FairnessApp.ID;
    }

    @Override
    public String description() {
        return "Packet ring: stations, paths, congestion domains, weights and classes.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Supplier<List<String>>> texts() {
        return Map.of("status", () -> RingTexts.status(running.view()), "stations", () -> RingTexts.stations(running.view()),
                "spans", () -> RingTexts.spans(running.view()));
    }

    @Override
    public Map<String, Change> changes() {
        return changes;
    }

    @Override
    public Optional<AppPage> page() {
        return Optional.of(RingPage.of(running.view()));
    }

    @Override
    public List<Metric> metrics() {
        RingView view = running.view();
        RingView.Counts counts = view.counts();
        return List.of(
                Metric.counter("ring_reroutes", "Ring paths changed by links going down or up.", counts.reroutes()),
                Metric.counter("ring_write_failures", "Write batches rejected by a station.", counts.writeFailures()),
                Metric.counter("ring_reports", "Reports of congested links accepted.", counts.reports()),
                Metric.refused("ring_reports_refused", "Reports rejected, by reason.", counts.refused()),
                Metric.counter("ring_messages", "Rate advertisements sent.", counts.messages()),
                Metric.gauge("ring_stations", "Stations of the ring.", view.stations().size()),
                Metric.gauge("ring_stations_ready", "Stations connected.",
                        view.stations().stream().filter(RingView.StationView::isReady).count()),
                Metric.gauge("ring_stations_settled", "Stations in sync (all table entries acknowledged).",
                        view.stations().stream().filter(RingView.StationView::isSettled).count()),
                Metric.gauge("ring_dark_ports", "Ring ports down.",
                        view.stations().stream().mapToLong(station -> station.darkPorts().size()).sum()),
                Metric.gauge("ring_spans", "Congestion domains: links reported as congested or recovering.", view.spans().size()));
    }

    private JsonNode chosen(KeptRingChoice.Reader choice, JsonNode body) throws InvalidJsonException {
        RingNetwork network = running.view().network();
        RingChoice chosen = choice.read(network, body);
        running.choose(new KeptRingChoice(network, chosen));
        return RingCodec.encode(chosen);
    }

    private JsonNode light(JsonNode body) throws InvalidJsonException {
        LightTold told = RingCodec.light(running.view().network(), body);
        running.order(told);
        return PortCodec.port(told.device(), told.port(), told.isUp());
    }
}
