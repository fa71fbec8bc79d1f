// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone.scheduler;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.star.schedule.FrameSchedule;

/** What a scheduling program is asked, and what it answers: version 1 of {@code schema/scheduler.schema.json}. */
final class SchedulerMessages {
    /** Version of both. */
    static final int VERSION = 1;

    private SchedulerMessages() {
    }

    /** A question; the n-th of an instance has sequence n. */
    static ObjectNode question(String scheduler, int instance, long sequence, Map<String, String> settings, int[][] demandSlots,
            FrameSchedule current) {
        ObjectNode question = JsonNodeFactory.instance.objectNode().put("version", VERSION).put("scheduler", scheduler)
                .put("instance", instance).put("sequence", sequence)
                .put("edges", current.edges()).put("slots", current.slots());
        ObjectNode values = question.putObject("settings");
        new TreeMap<>(settings).forEach(values::put);
        ArrayNode demand = question.putArray("demand");
        for (int sender = 0; sender < demandSlots.length; sender++) {
            ArrayNode row = demand.addArray();
            for (int receiver = 0; receiver < demandSlots.length; receiver++) {
                row.add(sender == receiver ? 0 : demandSlots[sender][receiver]);
            }
        }
        ArrayNode table = question.putArray("current");
        for (int slot = 0; slot < current.slots(); slot++) {
            ArrayNode row = table.addArray();
            for (int sender = 0; sender < current.edges(); sender++) {
                row.add(current.output(slot, sender));
            }
        }
        return question;
    }

    /** Reads a schedule of the size of {@code current}; throws with place and reason for anything else. */
    static FrameSchedule answer(byte[] body, FrameSchedule current) throws InvalidJsonException {
        JsonFields fields = JsonFields.of("", JsonFields.parse(body), "version", "schedule");
        fields.integer("version", VERSION, VERSION);
        List<JsonNode> slots = fields.array("schedule");
        checkSize("schedule", "slots", slots.size(), current.slots());
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(current.edges(), current.slots());
        for (int slot = 0; slot < slots.size(); slot++) {
            JsonNode row = slots.get(slot);
            checkSize("schedule[" + slot + "]", "senders", row.isArray() ? row.size() : -1, current.edges());
            for (int sender = 0; sender < row.size(); sender++) {
                connect(schedule, slot, sender, row.get(sender), current.edges());
            }
        }
        return schedule.build();
    }

    private static void connect(FrameSchedule.Builder schedule, int slot, int sender, JsonNode value, int edges)
            throws InvalidJsonException {
        String place = "schedule[" + slot + "][" + sender + "]";
        if (!value.isInt() || value.intValue() < FrameSchedule.NONE || value.intValue() >= edges) {
            throw new InvalidJsonException(place, "the place of an edge is needed, 0 .. " + (edges - 1) + ", or -1 for none, got " + shown(value));
        }
        if (value.intValue() != FrameSchedule.NONE && !schedule.connectIfFree(slot, sender, value.intValue())) {
            throw new InvalidJsonException(place, "edge " + sender + " cannot send to edge " + value
                    + (value.intValue() == sender ? ", itself" : ", to which another one sends in this slot"));
        }
    }

    private static String shown(JsonNode value) {
        return value.isNumber() ? value.toString() : "a value of type " + value.getNodeType();
    }

    private static void checkSize(String place, String what, int size, int right) throws InvalidJsonException {
        if (size != right) {
            throw new InvalidJsonException(place, "an array of " + right + " " + what + " is needed"
                    + (size < 0 ? "" : ", got " + size));
        }
    }
}
