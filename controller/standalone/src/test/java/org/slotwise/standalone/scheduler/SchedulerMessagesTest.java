// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.slotwise.star.schedule.FrameSchedule;

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
        assertEquals(current, SchedulerMessages.answer(answer.getBytes(), current));
        assertFalse(SCHEMA.validate(new ObjectMapper().readTree("{\"version\": 2, \"schedule\": []}")).isEmpty());
    }
}
