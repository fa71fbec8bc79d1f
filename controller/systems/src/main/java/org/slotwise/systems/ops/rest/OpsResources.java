// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

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
import org.slotwise.systems.ops.app.LabelApp;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.app.TargetChosen;
import org.slotwise.systems.ops.app.WeightChosen;

/** Optical packet switches and their edges, where labels go, and what can be changed while they run. */
public final class OpsResources implements AppResources {
    private static final String TARGETS = "targets";
    private static final String WEIGHTS = "weights";
    private static final String PORTS = "ports";

    private final Running<LabelView> running;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();

    /** Takes the application. */
    public OpsResources(Running<LabelView> running) {
        this.running = running;
        show("status", OpsCodec::status);
        show("nodes", OpsCodec::nodes);
        show("routes", OpsCodec::routes);
        show(TARGETS, OpsCodec::targets);
        show(WEIGHTS, OpsCodec::weights);
        show(PORTS, OpsCodec::ports);
    }

    private void show(String name, Function<LabelView, JsonNode> shown) {
        reads.put(name, () -> shown.apply(running.view()));
    }

    @Override
    public String id() {
        return LabelApp.ID;
    }

    @Override
    public String description() {
        return "Optical packet switches: ranked next hops of labels, target utilization of outputs, weights of classes, port status.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Change> changes() {
        return Map.of(TARGETS, this::target, WEIGHTS, this::weight, PORTS, this::light);
    }

    @Override
    public Optional<AppPage> page() {
        return Optional.of(OpsPage.of(running.view()));
    }

    @Override
    public List<Metric> metrics() {
        LabelView view = running.view();
        return List.of(
                Metric.counter("ops_reroutes", "Label routes changed by fibres going down or up.", view.reroutes()),
                Metric.counter("ops_write_failures", "Write batches rejected by a switch or an edge.", view.writeFailures()),
                Metric.gauge("ops_nodes", "Optical packet switches and edges.", view.nodes().size()),
                Metric.gauge("ops_nodes_ready", "Optical packet switches and edges connected.", view.nodes().values().stream().filter(LabelView.NodeView::isReady).count()),
                Metric.gauge("ops_nodes_settled", "Optical packet switches and edges in sync (all table entries acknowledged).",
                        view.nodes().values().stream().filter(LabelView.NodeView::isSettled).count()),
                Metric.gauge("ops_dark_ports", "Optical ports down.",
                        view.nodes().values().stream().mapToLong(node -> node.darkPorts().size()).sum()));
    }

    private JsonNode target(JsonNode body) throws InvalidJsonException {
        LabelView view = running.view();
        TargetChosen choice = OpsCodec.target(view, body);
        running.choose(new KeptTarget(view.network(), choice));
        return OpsCodec.target(choice.device(), choice.port(), choice.target());
    }

    private JsonNode weight(JsonNode body) throws InvalidJsonException {
        LabelView view = running.view();
        WeightChosen choice = OpsCodec.weight(view, body);
        running.choose(new KeptWeight(view.network(), choice));
        return OpsCodec.weight(choice.trafficClass(), choice.weight());
    }

    private JsonNode light(JsonNode body) throws InvalidJsonException {
        LightTold told = OpsCodec.light(running.view(), body);
        running.order(told);
        return PortCodec.port(told.device(), told.port(), told.isUp());
    }
}
