// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.star.schedule.FrameSchedule;

class SchedulerMessagesTest {
    private static final JsonSchema SCHEMA = schema();
    private final FrameSchedule current = new FrameSchedule.Builder(3, 2).connect(0, 0, 1).connect(1, 2, 0).build();

    private static JsonSchema schema() {
        try {
            return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                    .getSchema(Files.readString(Path.of("../../schema/scheduler.schema.json")));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aQuestionIsWhatTheSchemaSays() {
        JsonNode question = SchedulerMessages.question("mine", 1, 7, Map.of("estimator", "ewma"),
                new int[][] {{9, 2, 3}, {4, 9, 6}, {7, 8, 9}}, current);
        assertEquals(Set.of(), SCHEMA.validate(question));
        assertEquals("{\"version\":1,\"scheduler\":\"mine\",\"instance\":1,\"sequence\":7,\"edges\":3,\"slots\":2,"
                + "\"settings\":{\"estimator\":\"ewma\"},\"demand\":[[0,2,3],[4,0,6],[7,8,0]],"
                + "\"current\":[[1,-1,-1],[-1,-1,0]]}", question.toString());
    }

    @Test
    void anAnswerIsWhatTheSchemaSays() throws Exception {
        String answer = "{\"version\": 1, \"schedule\": [[1, -1, -1], [-1, -1, 0]]}";
        assertEquals(Set.of(), SCHEMA.validate(new ObjectMapper().readTree(answer)));
        assertEquals(current, SchedulerMessages.answer(answer.getBytes(StandardCharsets.UTF_8), current));
        assertFalse(SCHEMA.validate(new ObjectMapper().readTree("{\"version\": 2, \"schedule\": []}")).isEmpty());
    }

    private String refusal(String answer) {
        return assertThrows(InvalidJsonException.class, () -> SchedulerMessages.answer(answer.getBytes(StandardCharsets.UTF_8), current), answer)
                .getMessage();
    }

    @Test
    void theFirstThingThatIsWrongIsNamed() {
        assertEquals("expected an object, got a value of type array", refusal("[]"));
        assertEquals("expected an object, got nothing", refusal(""));
        assertEquals("version: missing", refusal("{\"schedule\": [[1, -1, -1], [-1, -1, 0]]}"));
        assertEquals("schedule: missing", refusal("{\"version\": 1}"));
        assertEquals("version: expected 1, got a value of type string", refusal("{\"version\": \"1\"}"));
        assertEquals("unknown field; expected one of version, schedule", refusal("{\"version\": 1, \"more\": [[[[[[[["));
        assertEquals("schedule: expected an array of 2 slots, got a value of type null", refusal("{\"schedule\": null}"));
        assertEquals("schedule[1]: expected an array of 3 senders, got fewer", refusal("{\"schedule\": [[1, -1, -1]]}"));
        assertEquals("schedule: expected an array of 2 slots, got a value of type array",
                refusal("{\"schedule\": [[1, -1, -1], [-1, -1, 0], ["));
        assertEquals("schedule[0]: expected an array of 3 senders, got 2", refusal("{\"schedule\": [[1, -1, -1, 2"));
        assertEquals("schedule[0][2]: expected an edge 0 .. 2, or -1 for none, got fewer", refusal("{\"schedule\": [[1, -1]"));
        assertEquals("schedule[0][0]: expected an edge 0 .. 2, or -1 for none, got a value of type number",
                refusal("{\"schedule\": [[99999999999"));
        assertEquals("schedule[0][0]: edge 0 cannot send to edge 0, itself", refusal("{\"schedule\": [[0"));
        assertEquals("unexpected data after the object", refusal("{\"version\": 1, \"schedule\": [[1, -1, -1], [-1, -1, 0]]} {}"));
        assertTrue(refusal("{\"version\": 1, \"version\": 1}").contains("Duplicate field 'version'"));
    }

    /** Of these a tree would have millions of objects. */
    @Test
    void whatIsNoScheduleIsNotReadToItsEnd() {
        String many = "{\"version\": 1, \"schedule\": [" + "{},".repeat(1_000_000);
        assertEquals("schedule[0]: expected an array of 3 senders, got a value of type object", refusal(many));
    }
}
