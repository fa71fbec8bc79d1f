// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

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
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.star.app.MasterShutdown;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.InvalidSettingsException;

/** The star's state, the choice of its scheduler, and which masters are shut down. */
public final class StarResources implements AppResources {
    /** The scheduler in use. */
    public static final String SCHEDULER = "scheduler";
    /** Masters that are shut down. */
    public static final String SHUTDOWN = "shutdown";

    private final Running<Snapshot> running;
    private final SchedulerChosen configured;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();

    /** Takes the application, and the scheduler that is configured, in whose place another one can be chosen. */
    public StarResources(Running<Snapshot> running, SchedulerChosen configured) {
        this.running = running;
        this.configured = configured;
        show("status", SnapshotCodec::status);
        show("topology", SnapshotCodec::topology);
        show("nodes", SnapshotCodec::nodes);
        show("members", SnapshotCodec::members);
        show("demand", SnapshotCodec::demand);
        show("schedule", SnapshotCodec::schedule);
        show("statistics", SnapshotCodec::statistics);
        show(SCHEDULER, SchedulerCodec::encodeWithAlternatives);
        show(SHUTDOWN, ShutdownCodec::encode);
    }

    private void show(String name, Function<Snapshot, JsonNode> codec) {
        reads.put(name, () -> codec.apply(running.view()));
    }

    @Override
    public String id() {
        return StarApp.ID;
    }

    @Override
    public String description() {
        return "Slotted stars: requests of edges, schedules of cores.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Supplier<List<String>>> texts() {
        return Map.of("status", () -> StarTexts.status(running.view()), "schedule", () -> StarTexts.schedule(running.view()),
                SCHEDULER, () -> StarTexts.scheduler(running.view()));
    }

    @Override
    public Map<String, Change> changes() {
        return running.takes(SHUTDOWN) ? Map.of(SCHEDULER, this::choose, SHUTDOWN, this::shutDown) : Map.of(SCHEDULER, this::choose);
    }

    @Override
    public Optional<AppPage> page() {
        return Optional.of(StarPage.of(running.view()));
    }

    @Override
    public List<Metric> metrics() {
        return StarMetrics.of(running.view());
    }

    private JsonNode choose(JsonNode body) throws InvalidJsonException {
        Snapshot snapshot = running.view();
        SchedulerChosen choice;
        try {
            choice = SchedulerCodec.decode("", body, snapshot.scheduler().catalogue());
            choice.kind().checkEdges(choice.settings(), snapshot.network().edges().size());
        } catch (InvalidSettingsException e) {
            throw new InvalidJsonException("", e.getMessage());
        }
        running.choose(KeptStar.choice(choice, configured));
        return SchedulerCodec.encode(choice.kind(), choice.settings());
    }

    private JsonNode shutDown(JsonNode body) throws InvalidJsonException {
        Network network = running.view().network();
        MasterShutdown shutdown = ShutdownCodec.decode(network, body);
        if (!network.canShutDown()) {
            throw new NotHereException("disabling a master requires dynamic membership or several cores;"
                    + " this network has static membership and one core");
        }
        running.choose(KeptStar.choice(shutdown));
        return ShutdownCodec.encode(network, shutdown.core(), shutdown.isDown());
    }
}
