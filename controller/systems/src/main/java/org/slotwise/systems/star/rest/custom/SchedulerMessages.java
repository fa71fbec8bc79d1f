// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.star.schedule.FrameSchedule;

/** What a scheduling program is asked, and what it answers: version 1 of {@code schema/scheduler.schema.json}. */
final class SchedulerMessages {
    /** Version of both. */
    static final int VERSION = 1;

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION).build();

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

    /**
     * Reads a schedule of the size of {@code current}; throws with place and reason for anything else, at the first value that is
     * wrong: whatever a program answers, no more is made of it than a schedule.
     */
    static FrameSchedule answer(byte[] body, FrameSchedule current) throws InvalidJsonException {
        try (JsonParser json = JSON.createParser(body)) {
            return new Answer(json, current).read();
        } catch (JsonProcessingException e) {
            throw new InvalidJsonException("line " + e.getLocation().getLineNr() + ", column " + e.getLocation().getColumnNr(),
                    "not JSON: " + JsonFields.reason(e));
        } catch (IOException e) {
            throw new InvalidJsonException("", "not JSON: " + e.getMessage());
        }
    }

    private static final class Answer {
        private final JsonParser json;
        private final FrameSchedule current;

        Answer(JsonParser json, FrameSchedule current) {
            this.json = json;
            this.current = current;
        }

        private FrameSchedule read() throws IOException, InvalidJsonException {
            expect("", JsonToken.START_OBJECT, json.nextToken(), "an object");
            boolean hasVersion = false;
            FrameSchedule schedule = null;
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                json.nextToken();
                if (field.equals("version")) {
                    version();
                    hasVersion = true;
                } else if (field.equals("schedule")) {
                    schedule = schedule();
                } else {
                    throw new InvalidJsonException("", "unknown field; expected one of version, schedule");
                }
            }
            if (!hasVersion || schedule == null) {
                throw new InvalidJsonException(hasVersion ? "schedule" : "version", "missing");
            }
            if (json.nextToken() != null) {
                throw new InvalidJsonException("", "unexpected data after the object");
            }
            return schedule;
        }

        private void version() throws IOException, InvalidJsonException {
            if (!isInt() || json.getIntValue() != VERSION) {
                throw new InvalidJsonException("version", "expected " + VERSION + ", got " + shown());
            }
        }

        private FrameSchedule schedule() throws IOException, InvalidJsonException {
            String what = "an array of " + current.slots() + " slots";
            expect("schedule", JsonToken.START_ARRAY, json.currentToken(), what);
            FrameSchedule.Builder schedule = new FrameSchedule.Builder(current.edges(), current.slots());
            for (int slot = 0; slot < current.slots(); slot++) {
                String place = "schedule[" + slot + "]";
                String row = "an array of " + current.edges() + " senders";
                expect(place, JsonToken.START_ARRAY, json.nextToken(), row);
                for (int sender = 0; sender < current.edges(); sender++) {
                    json.nextToken();
                    connect(schedule, slot, sender);
                }
                expect(place, JsonToken.END_ARRAY, json.nextToken(), row);
            }
            expect("schedule", JsonToken.END_ARRAY, json.nextToken(), what);
            return schedule.build();
        }

        private void connect(FrameSchedule.Builder schedule, int slot, int sender) throws IOException, InvalidJsonException {
            if (!isInt() || json.getIntValue() < FrameSchedule.NONE || json.getIntValue() >= current.edges()) {
                throw new InvalidJsonException("schedule[" + slot + "][" + sender + "]", "expected an edge 0 .. "
                        + (current.edges() - 1) + ", or -1 for none, got " + shown());
            }
            int receiver = json.getIntValue();
            if (receiver != FrameSchedule.NONE && !schedule.connectIfFree(slot, sender, receiver)) {
                throw new InvalidJsonException("schedule[" + slot + "][" + sender + "]", "edge " + sender + " cannot send to edge "
                        + receiver + (receiver == sender ? ", itself" : ", which receives from another edge in this slot"));
            }
        }

        private boolean isInt() throws IOException {
            return json.currentToken() == JsonToken.VALUE_NUMBER_INT && json.getNumberType() == JsonParser.NumberType.INT;
        }

        private void expect(String place, JsonToken right, JsonToken token, String what) throws IOException, InvalidJsonException {
            if (token != right) {
                throw new InvalidJsonException(place, "expected " + what + ", got " + shown());
            }
        }

        private String shown() throws IOException {
            JsonToken token = json.currentToken();
            if (token == null || token.isStructEnd()) {
                return token == null ? "nothing" : "fewer";
            }
            String type = token.isNumeric() ? "number" : token.name().toLowerCase(Locale.ROOT).replaceFirst("^(value|start)_", "");
            return isInt() ? Integer.toString(json.getIntValue()) : "a value of type " + type;
        }
    }
}
