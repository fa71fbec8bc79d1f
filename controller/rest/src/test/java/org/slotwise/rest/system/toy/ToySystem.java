// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system.toy;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemKind;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.Ownership;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;

/** Complete system in one file, without code in any host: one switch, and a level that can be set. */
public final class ToySystem implements SystemKind<Integer> {
    private static final String ID = "toy";
    private static final String LEVEL = "level";
    private static final Shape<Integer> SHAPE = Shape.integer(LEVEL, 0, 9);

    @Override
    public String id() {
        return ID;
    }

    @Override
    public List<String> programs() {
        return List.of(ID);
    }

    @Override
    public SystemPart<Integer> read(String where, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "device_id", LEVEL);
        DeviceId device = DeviceId.of(fields.integer("device_id", 1, DeviceId.MAX));
        int configured = SHAPE.read(fields);
        Topology topology = new Topology.Builder().node(new Node(device, ID, ID)).build();
        return new SystemPart<>(topology, () -> new Toy(topology, device, configured),
                new ResourceTable<Integer>(ID, "A level, and nothing else.")
                        .setting(LEVEL, SystemSetting.one(LEVEL, "a level", SHAPE, configured, view -> view,
                                level -> Event.Call.of((Toy toy) -> toy.setLevel(level))))
                        .metrics(view -> List.of(Metric.gauge("toy_level", "The level.", view))));
    }

    private static final class Toy extends App<Integer> {
        private int level;
        private boolean configured;

        Toy(Topology topology, DeviceId device, int level) {
            super(ID, topology, Ownership.allOf(List.of(device)));
            this.level = level;
        }

        void setLevel(int newLevel) {
            level = newLevel;
            send(new Command.Notice(ID, "level_changed", "the level is " + level + " now"));
        }

        @Override
        protected void handle(Event event) {
            configured |= event instanceof Event.DeviceReady;
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
}
