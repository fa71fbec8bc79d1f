// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;
import org.slotwise.rest.json.View;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;
import org.slotwise.systems.star.schedule.Setting;

/** A choice of scheduler: {@code {"name": "fair", "settings": {"share": "equal"}}}. */
public final class SchedulerCodec {
    private static final View<Map<String, ? extends JsonNode>> VALUES = View.map(textOrInteger());
    private static final View.Fields<Setting> SETTING = View.<Setting>object()
            .field("name", View.TEXT, Setting::name)
            .field("description", View.TEXT, Setting::description)
            .field("type", View.oneOf(View::lower, Setting.Type.values()), Setting::type)
            .field("default", textOrInteger(), setting -> value(setting, setting.defaultValue()))
            .optional("values", View.list(View.TEXT).described("Values of a choice."), setting -> ifOf(setting, Setting.Type.CHOICE, setting.values()))
            .optional("minimum", View.INTEGER.described("Minimum of an integer."), setting -> ifOf(setting, Setting.Type.INTEGER, setting.minimum()))
            .optional("maximum", View.INTEGER.described("Maximum of an integer."), setting -> ifOf(setting, Setting.Type.INTEGER, setting.maximum()));
    private static final View.Fields<SchedulerKind> KIND = View.<SchedulerKind>object()
            .field("name", View.TEXT, SchedulerKind::title)
            .field("description", View.TEXT, SchedulerKind::description)
            .field("settings", View.list(SETTING), SchedulerKind::settings);
    /** The choice in force, and what else there is. */
    static final View.Fields<Snapshot> VIEW = View.<Snapshot>object("Active scheduler, its settings, and available schedulers")
            .field("name", View.TEXT, snapshot -> snapshot.scheduler().title())
            .field("settings", VALUES, snapshot -> values(snapshot.scheduler(), snapshot.schedulerSettings()))
            .field("available", View.list(KIND), snapshot -> snapshot.scheduler().catalogue().all());

    private SchedulerCodec() {
    }

    private static View<JsonNode> textOrInteger() {
        ObjectNode schema = JsonNodeFactory.instance.objectNode();
        schema.putArray("type").add("string").add("integer");
        return View.of(schema, value -> value);
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
                .field("name", name(schedulers)).field("settings", VALUES.described("Omitted settings get their defaults.").schema())
                .optional("settings");
    }

    private static ObjectNode name(Schedulers schedulers) {
        ObjectNode schema = View.TEXT.schema().deepCopy();
        schedulers.all().forEach(kind -> schema.withArray("examples").add(kind.title()));
        return schema;
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
        node.put("name", kind.title()).set("settings", VALUES.write(values(kind, settings)));
        return node;
    }

    private static Map<String, JsonNode> values(SchedulerKind kind, Map<String, String> settings) {
        Map<String, JsonNode> values = new LinkedHashMap<>();
        kind.settings().forEach(setting -> values.put(setting.name(), value(setting, settings.get(setting.name()))));
        return values;
    }

    private static JsonNode value(Setting setting, String value) {
        return setting.type() == Setting.Type.INTEGER ? IntNode.valueOf(Integer.parseInt(value)) : TextNode.valueOf(value);
    }

    private static <X> Optional<X> ifOf(Setting setting, Setting.Type type, X value) {
        return setting.type() == type ? Optional.of(value) : Optional.empty();
    }
}
