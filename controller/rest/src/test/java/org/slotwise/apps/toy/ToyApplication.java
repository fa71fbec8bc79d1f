// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps.toy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.slotwise.apps.AppPart;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Application;
import org.slotwise.apps.Choice;
import org.slotwise.apps.Kept;
import org.slotwise.apps.Metric;
import org.slotwise.apps.Running;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.Ownership;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/** An application that no host knows: one switch, and a level that people choose. This file is all there is of it. */
public final class ToyApplication implements Application<Integer> {
    private static final String ID = "toy";
    private static final String LEVEL = "level";
    private static final int MAX_LEVEL = 9;

    @Override
    public String id() {
        return ID;
    }

    @Override
    public List<String> programs() {
        return List.of(ID);
    }

    @Override
    public AppPart<Integer> read(String where, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "device_id", LEVEL);
        return new Part(DeviceId.of(fields.integer("device_id", 1, DeviceId.MAX)), level(fields));
    }

    private static int level(JsonFields fields) throws InvalidJsonException {
        return (int) fields.integer(LEVEL, 0, MAX_LEVEL);
    }

    private static ObjectNode json(int level) {
        return JsonNodeFactory.instance.objectNode().put(LEVEL, level);
    }

    private static final class Part implements AppPart<Integer> {
        private final DeviceId device;
        private final int configured;

        Part(DeviceId device, int configured) {
            this.device = device;
            this.configured = configured;
        }

        @Override
        public Topology topology() {
            return new Topology.Builder().node(new Node(device, ID, ID)).build();
        }

        @Override
        public App<Integer> make(AppState kept) {
            return new Toy(topology(), Ownership.allOf(List.of(device)), configured);
        }

        @Override
        public AppResources resources(Running<Integer> running) {
            return new Resources(running);
        }

        @Override
        public List<Event.Order> kept(AppState kept) {
            return Kept.holding(kept, (key, text) -> key.equals(LEVEL) ? Optional.of(new Level(Integer.parseInt(text))) : Optional.empty());
        }
    }

    private static final class Level extends Event.Order implements Choice<Integer> {
        private final int level;

        Level(int level) {
            this.level = level;
        }

        @Override
        public String what() {
            return LEVEL;
        }

        @Override
        public String title() {
            return "a level";
        }

        @Override
        public Event.Order order() {
            return this;
        }

        @Override
        public ObjectNode told() {
            return json(level);
        }

        @Override
        public ObjectNode audited(Integer before) {
            return JsonNodeFactory.instance.objectNode().put("before", before).put("after", level);
        }

        @Override
        public void keep(AppState state) throws IOException {
            state.keep(LEVEL, Integer.toString(level));
        }
    }

    private static final class Changed extends Command.Notice {
        private final int level;

        Changed(int level) {
            super(ID, "level_changed");
            this.level = level;
        }

        @Override
        public String toString() {
            return "the level is " + level + " now";
        }
    }

    private static final class Toy implements App<Integer> {
        private final Topology topology;
        private final Ownership tables;
        private int level;
        private boolean configured;

        Toy(Topology topology, Ownership tables, int level) {
            this.topology = topology;
            this.tables = tables;
            this.level = level;
        }

        @Override
        public String id() {
            return ID;
        }

        @Override
        public Topology topology() {
            return topology;
        }

        @Override
        public Ownership owns() {
            return tables;
        }

        @Override
        public boolean claims(Event.PacketIn packet) {
            return false;
        }

        @Override
        public List<Command> onEvent(long nowNs, Event event) {
            configured |= event instanceof Event.DeviceReady;
            if (!(event instanceof Level)) {
                return List.of();
            }
            level = ((Level) event).level;
            return List.of(new Changed(level));
        }

        @Override
        public OptionalLong nextDeadlineNs() {
            return OptionalLong.empty();
        }

        @Override
        public boolean isConfigured() {
            return configured;
        }

        @Override
        public Integer view() {
            return level;
        }
    }

    private static final class Resources implements AppResources {
        private final Running<Integer> running;

        Resources(Running<Integer> running) {
            this.running = running;
        }

        @Override
        public String id() {
            return ID;
        }

        @Override
        public String description() {
            return "A level, and nothing else.";
        }

        @Override
        public Map<String, Supplier<JsonNode>> reads() {
            return Map.of(LEVEL, () -> json(running.view()));
        }

        @Override
        public Map<String, Change> changes() {
            return Map.of(LEVEL, this::change);
        }

        @Override
        public List<Metric> metrics() {
            return List.of(Metric.gauge("toy_level", "The level.", running.view()));
        }

        private JsonNode change(JsonNode body) throws InvalidJsonException {
            Level chosen = new Level(level(JsonFields.of("", body, LEVEL)));
            running.choose(chosen);
            return chosen.told();
        }
    }
}
