// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;
import org.slotwise.systems.star.schedule.Setting;

/** What the schemas of scenarios and networks say of schedulers is what the schedulers say of themselves. */
class SchedulerSchemaTest {
    private static JsonNode definitions(String schema) throws IOException {
        return new ObjectMapper().readTree(Path.of("../../schema", schema).toFile()).get("$defs");
    }

    private static List<String> texts(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(node -> texts.add(node.asText()));
        return texts;
    }

    @ParameterizedTest
    @ValueSource(strings = {"scenario.schema.json", "network.schema.json"})
    void theSchemasNameEverySchedulerAndSetting(String schema) throws IOException {
        JsonNode definitions = definitions(schema);
        List<String> titles = Schedulers.ours().all().stream().map(SchedulerKind::title).collect(Collectors.toList());
        JsonNode choice = definitions.get("scheduler_choice");
        assertEquals(titles, texts(choice.at("/properties/name/anyOf/0/enum")));
        for (int i = 0; i < titles.size(); i++) {
            String definition = "settings_of_" + titles.get(i).replace('-', '_');
            JsonNode branch = choice.get("allOf").get(i);
            assertEquals(titles.get(i), branch.at("/if/properties/name/const").asText());
            assertEquals("#/$defs/" + definition, branch.at("/then/properties/settings/$ref").asText());
            JsonNode properties = definitions.get(definition).get("properties");
            List<String> names = new ArrayList<>();
            properties.fieldNames().forEachRemaining(names::add);
            List<Setting> settings = Schedulers.ours().all().get(i).settings();
            assertEquals(settings.stream().map(Setting::name).collect(Collectors.toList()), names);
            settings.forEach(setting -> assertSame(setting, properties.get(setting.name())));
        }
    }

    private static void assertSame(Setting setting, JsonNode described) {
        assertEquals(setting.defaultValue(), described.get("default").asText(), setting.name());
        switch (setting.type()) {
            case CHOICE:
                assertEquals(setting.values(), texts(described.get("enum")), setting.name());
                break;
            case INTEGER:
                assertEquals(setting.minimum(), described.get("minimum").asInt(), setting.name());
                assertEquals(setting.maximum(), described.get("maximum").asInt(), setting.name());
                break;
            default:
                assertEquals("string", described.get("type").asText(), setting.name());
                break;
        }
    }

    @Test
    void scenariosTakeTheSameSchedulersByName() throws IOException {
        JsonNode scheduler = definitions("scenario.schema.json").get("scheduler");
        assertEquals(Schedulers.ours().all().stream().map(SchedulerKind::title).collect(Collectors.toList()),
                texts(scheduler.at("/then/anyOf/0/enum")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "  ", "0>1=4", " *>3=first , 12>*=064 ", "0001>9999=1", "0>1=0", "0>1=000", "0>1=65",
            "0>1=100", "0>1=4,", ",", "0 >1=4", "00001>1=4", "+1>1=4", "0>1=first first", "0>1", "0>1=4;2>1=4"})
    void rulesAreThoseThatTheSchemasTake(String rules) throws IOException {
        for (String schema : List.of("scenario.schema.json", "network.schema.json")) {
            String pattern = definitions(schema).at("/settings_of_fair/properties/weights/pattern").asText();
            boolean isTaken = rules.matches(pattern);
            try {
                Kinds.FAIR.completeSettings(Map.of("weights", rules));
                assertEquals(true, isTaken, schema + ": '" + rules + "'");
            } catch (InvalidSettingsException e) {
                assertEquals(false, isTaken, schema + ": '" + rules + "'");
            }
        }
    }

    @Test
    void aWeightOfAnEdgeThatIsNotThereIsRefused() throws InvalidSettingsException {
        Map<String, String> settings = Kinds.SOLSTICE.completeSettings(Map.of("weights", "*>1=2, 4>*=first"));
        Kinds.SOLSTICE.checkEdges(settings, 5);
        InvalidSettingsException refusal = assertThrows(
                InvalidSettingsException.class, () -> Kinds.SOLSTICE.checkEdges(settings, 4));
        assertEquals("setting 'weights' of scheduler 'solstice': unknown edge 4; expected 0 .. 3", refusal.getMessage());
        Kinds.ISLIP.checkEdges(Kinds.ISLIP.completeSettings(Map.of()), 2);
    }
}
