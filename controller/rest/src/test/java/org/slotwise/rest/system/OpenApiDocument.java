// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slotwise.rest.json.Shape;

/**
 * OpenAPI document: the hand-written part, and a path with its operations and schemas for each resource of each system's table. The schema of
 * resource {@code routes} of system {@code ops} is {@code OpsRoutes}: hand-written, or of a setting made of its shapes.
 */
public final class OpenApiDocument {
    private static final String V1 = "/slotwise/v1/";
    private static final List<Integer> REFUSALS = List.of(400, 411, 413, 415, 422);

    private final ObjectNode document;
    private final ObjectNode paths;
    private final ObjectNode schemas;

    private OpenApiDocument(JsonNode handWritten) {
        document = handWritten.deepCopy();
        paths = (ObjectNode) document.get("paths");
        schemas = (ObjectNode) document.at("/components/schemas");
    }

    /** Assembles it, of a system of each kind. */
    public static JsonNode of(JsonNode handWritten, List<SystemPart<?>> systems) {
        OpenApiDocument assembled = new OpenApiDocument(handWritten);
        systems.forEach(system -> assembled.add(system.resources()));
        Map<String, JsonNode> sorted = new TreeMap<>();
        assembled.schemas.properties().forEach(schema -> sorted.put(schema.getKey(), schema.getValue()));
        assembled.schemas.removeAll();
        assembled.schemas.setAll(sorted);
        return assembled.document;
    }

    private static String capital(String text) {
        return text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1);
    }

    private void add(ResourceTable<?> table) {
        for (String name : table.reads().keySet()) {
            String type = capital(table.id()) + capital(name);
            Optional<SystemSetting<?, ?, ?>> setting = Optional.ofNullable(table.settings().get(name));
            setting.ifPresent(one -> addSchemas(type, table.list(name), one));
            if (!schemas.has(type)) {
                throw new IllegalStateException("no schema " + type);
            }
            ObjectNode path = JsonNodeFactory.instance.objectNode();
            ObjectNode get = path.putObject("get").put("summary", schemas.get(type).get("description").textValue()).put("operationId", "get" + type);
            answers(get, type);
            paths.set(V1 + table.id() + "/" + name, path);
            if (setting.isPresent() && setting.get().isOne()) {
                ObjectNode put = path.putObject("put").put("summary", "Set " + setting.get().title()).put("operationId", "put" + type);
                answersPut(put, type + "Change", schemas.has(type + "Item") ? type + "Item" : type);
            } else if (table.items().containsKey(name)) {
                addItem(table, name, type, table.items().get(name));
            }
        }
    }

    private void addItem(ResourceTable<?> table, String name, String type, Items<?> below) {
        ObjectNode path = JsonNodeFactory.instance.objectNode();
        StringBuilder at = new StringBuilder(V1 + table.id() + "/" + name);
        ArrayNode parameters = path.putArray("parameters");
        below.place().forEach((field, schema) -> {
            at.append("/{").append(field).append('}');
            parameters.addObject().put("name", field).put("in", "path").put("required", true).set("schema", schema);
        });
        String summary = schemas.get(type + "Item").get("description").textValue();
        answers(path.putObject("get").put("summary", summary).put("operationId", "get" + type + "Item"), type + "Item");
        ObjectNode put = path.putObject("put").put("summary", "Set or add: " + summary).put("operationId", "put" + type + "Item");
        answersPut(put, type + "Change", type + "Item");
        if (below.canDelete()) {
            ObjectNode gone = path.putObject("delete").put("summary", "Remove: " + summary).put("operationId", "delete" + type + "Item").putObject("responses");
            gone.putObject("204").put("description", "Removed");
            gone.set("default", problem());
        }
        paths.set(at.toString(), path);
    }

    private void answersPut(ObjectNode put, String body, String type) {
        content(put.putObject("requestBody").put("required", true).put("description", "At most 16 KiB."), body);
        ObjectNode answers = answers(put, type);
        REFUSALS.forEach(status -> answers.set(Integer.toString(status), problem()));
    }

    private void addSchemas(String type, String list, SystemSetting<?, ?, ?> setting) {
        schemas.set(type + "Change", setting.schema(false));
        if (setting.isOne()) {
            if (schemas.has(type)) {
                schemas.set(type + "Item", setting.schema(true));
            } else {
                schemas.set(type, setting.schema(true));
            }
            return;
        }
        schemas.set(type + "Item", setting.schema(true));
        ObjectNode all = schemas.putObject(type).put("description", "All values of " + setting.title()).put("type", "object");
        all.putArray("required").add(list);
        all.put("additionalProperties", false).putObject("properties").putObject(list).put("type", "array")
                .set("items", Shape.reference(type + "Item"));
    }

    private ObjectNode answers(ObjectNode operation, String type) {
        ObjectNode answers = operation.putObject("responses");
        ObjectNode ok = answers.putObject("200").put("description", schemas.get(type).get("description").textValue());
        content(ok, type);
        answers.set("default", problem());
        return answers;
    }

    private static void content(ObjectNode of, String type) {
        of.putObject("content").putObject("application/json").set("schema", Shape.reference(type));
    }

    private static ObjectNode problem() {
        return JsonNodeFactory.instance.objectNode().put("$ref", "#/components/responses/Problem");
    }
}
