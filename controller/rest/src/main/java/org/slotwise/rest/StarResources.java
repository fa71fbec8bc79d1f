// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.SchedulerCodec;
import org.slotwise.rest.json.ShutdownCodec;
import org.slotwise.rest.json.SnapshotCodec;
import org.slotwise.star.MasterShutdown;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.Snapshot;
import org.slotwise.star.StarApp;
import org.slotwise.star.network.Network;
import org.slotwise.star.schedule.InvalidSettingsException;

/** The star's state, the choice of its scheduler, and which masters are shut down. */
final class StarResources implements AppResources {
    static final String SCHEDULER = "scheduler";
    static final String SHUTDOWN = "shutdown";

    private final ControllerService service;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();

    StarResources(ControllerService service) {
        this.service = service;
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
        reads.put(name, () -> codec.apply(service.snapshot()));
    }

    @Override
    public String id() {
        return StarApp.ID;
    }

    @Override
    public String description() {
        return "Slotted stars: edges ask, schedules answer.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Change> changes() {
        return Map.of(SCHEDULER, this::choose, SHUTDOWN, this::shutDown);
    }

    private JsonNode choose(JsonNode body) throws InvalidJsonException, InvalidSettingsException {
        Snapshot snapshot = service.snapshot();
        SchedulerChosen choice = SchedulerCodec.decode("", body, snapshot.scheduler().catalogue());
        choice.kind().checkEdges(choice.settings(), snapshot.network().edges().size());
        service.choose(choice);
        return SchedulerCodec.encode(choice.kind(), choice.settings());
    }

    private JsonNode shutDown(JsonNode body) throws InvalidJsonException {
        Network network = service.snapshot().network();
        MasterShutdown shutdown = ShutdownCodec.decode(network, body);
        if (!network.canShutDown()) {
            throw new ProblemException(409, "a master can be shut down where edges join by invitation, or another core"
                    + " takes the traffic over; this network has static membership and one core");
        }
        service.shutDown(shutdown);
        return ShutdownCodec.encode(network, shutdown.core(), shutdown.isDown());
    }
}
