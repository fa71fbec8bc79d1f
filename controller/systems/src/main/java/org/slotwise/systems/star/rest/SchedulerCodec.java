// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;
import org.slotwise.systems.star.schedule.Setting;

/** A choice of scheduler: {@code {"name": "fair", "settings": {"share": "equal"}}}. */
public final class SchedulerCodec {
    private SchedulerCodec() {
    }

    /** Reads and checks a choice among {@code schedulers}; settings that are missing get their defaults. */
    public static SchedulerChosen decode(String where, JsonNode value, Schedulers schedulers)
            throws InvalidJsonException, InvalidSettingsException {
        return decode(JsonFields.of(where, value, "name", "settings"), schedulers);
    }

    /** Returns the fields of a choice among {@code schedulers}, for so many edges. */
    static Shape<SchedulerChosen> shape(Schedulers schedulers, int edges) {
        return Shape.of(fields -> {
            try {
                SchedulerChosen chosen = decode(fields, schedulers);
                chosen.kind().checkEdges(chosen.settings(), edges);
                return chosen;
            } catch (InvalidSettingsException e) {
                throw new InvalidJsonException("", e.getMessage());
            }
        }, (chosen, node) -> write(chosen.kind(), chosen.settings(), node), "name", "settings")
                .field("name", Shape.reference("SchedulerName")).field("settings", Shape.reference("SchedulerSettings")).optional("settings");
    }

    private static SchedulerChosen decode(JsonFields fields, Schedulers schedulers) throws InvalidJsonException, InvalidSettingsException {
        SchedulerKind kind = schedulers.named(fields.text("name"));
        Map<String, String> settings = new TreeMap<>();
        Optional<JsonNode> given = fields.optional("settings");
        if (given.isPresent()) {
            JsonFields named = JsonFields.open(fields.place("settings"), given.get());
            for (Iterator<String> names = given.get().fieldNames(); names.hasNext();) {
                String name = names.next();
                settings.put(name, settingText(named, name));
            }
        }
        return new SchedulerChosen(kind, kind.completeSettings(settings));
    }

    /** Text, or a whole number as text. */
    private static String settingText(JsonFields settings, String name) throws InvalidJsonException {
        JsonNode value = settings.required(name);
        return value.isIntegralNumber() ? value.asText() : settings.text(name);
    }

    /** Writes a choice; whole numbers as numbers. */
    public static ObjectNode encode(SchedulerKind kind, Map<String, String> settings) {
        return write(kind, settings, JsonNodeFactory.instance.objectNode());
    }

    private static ObjectNode write(SchedulerKind kind, Map<String, String> settings, ObjectNode node) {
        node.put("name", kind.title());
        ObjectNode values = node.putObject("settings");
        for (Setting setting : kind.settings()) {
            String value = settings.get(setting.name());
            if (setting.type() == Setting.Type.INTEGER) {
                values.put(setting.name(), Integer.parseInt(value));
            } else {
                values.put(setting.name(), value);
            }
        }
        return node;
    }

    /** Writes the choice in force and what else there is. */
    public static ObjectNode encodeWithAlternatives(Snapshot snapshot) {
        ObjectNode node = encode(snapshot.scheduler(), snapshot.schedulerSettings());
        ArrayNode available = node.putArray("available");
        for (SchedulerKind kind : snapshot.scheduler().catalogue().all()) {
            ObjectNode entry = available.addObject()
                    .put("name", kind.title()).put("description", kind.description());
            ArrayNode settings = entry.putArray("settings");
            kind.settings().forEach(setting -> describe(settings.addObject(), setting));
        }
        return node;
    }

    private static void describe(ObjectNode node, Setting setting) {
        node.put("name", setting.name()).put("description", setting.description())
                .put("type", setting.type().name().toLowerCase(Locale.ROOT));
        if (setting.type() == Setting.Type.INTEGER) {
            node.put("default", Integer.parseInt(setting.defaultValue()))
                    .put("minimum", setting.minimum()).put("maximum", setting.maximum());
        } else {
            node.put("default", setting.defaultValue());
        }
        if (setting.type() == Setting.Type.CHOICE) {
            ArrayNode values = node.putArray("values");
            setting.values().forEach(values::add);
        }
    }
}
