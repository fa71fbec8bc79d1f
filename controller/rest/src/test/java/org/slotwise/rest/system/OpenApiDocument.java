// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slotwise.rest.json.Shape;

/**
 * OpenAPI document: the hand-written part, and a path with its operations and schemas for each resource of each system's table. The schema of
 * resource {@code routes} of system {@code ops} is {@code OpsRoutes}.
 */
public final class OpenApiDocument {
    private static final String V1 = "/slotwise/v1/";
    private static final List<Integer> REFUSALS = List.of(400, 411, 412, 413, 415, 422);

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

    private void add(ResourceTable<?> table) {
        table.reads().forEach((name, view) -> {
            String type = table.type(name);
            view.components(schemas);
            schemas.set(type, view.schema());
            ObjectNode path = JsonNodeFactory.instance.objectNode();
            answers(path.putObject("get").put("summary", description(type)).put("operationId", "get" + type), type);
            paths.set(V1 + table.id() + "/" + name, path);
            Optional.ofNullable(table.items().get(name)).ifPresent(items -> addChanges(table.id() + "/" + name, type, path, items));
        });
    }

    private String description(String type) {
        return schemas.get(type).get("description").textValue();
    }

    /** Adds what can be changed, at a resource or at places below it. */
    private void addChanges(String name, String type, ObjectNode whole, Items<?> items) {
        boolean isOne = items.place().isEmpty();
        String item = isOne && items.shown().equals(schemas.get(type)) ? type : type + ResourceTable.ITEM;
        schemas.set(item, items.shown());
        schemas.set(type + "Change", items.sent());
        ObjectNode path = isOne ? whole : addItem(V1 + name, item, items.place());
        addTag((ObjectNode) path.get("get"));
        ObjectNode put = path.putObject("put").put("summary", "Set: " + description(item)).put("operationId", "put" + item);
        conditional(put);
        content(put.putObject("requestBody").put("required", true).put("description", "At most 16 KiB."), type + "Change");
        ObjectNode answers = answers(put, item);
        REFUSALS.forEach(status -> answers.set(Integer.toString(status), problem()));
        if (items.canDelete()) {
            ObjectNode delete = path.putObject("delete").put("summary", "Remove: " + description(item)).put("operationId", "delete" + item);
            conditional(delete);
            ObjectNode gone = delete.putObject("responses");
            gone.set("412", problem());
            gone.putObject("204").put("description", "Removed");
            gone.set("default", problem());
        }
    }

    private static void conditional(ObjectNode operation) {
        operation.putArray("parameters").add(component("parameters/IfMatch")).add(component("parameters/IfNoneMatch"));
    }

    private static void addTag(ObjectNode read) {
        conditional(read);
        ObjectNode answers = (ObjectNode) read.get("responses");
        ((ObjectNode) answers.get("200")).putObject("headers").set("ETag", component("headers/ETag"));
        answers.set("304", component("responses/NotModified"));
        answers.set("412", problem());
    }

    private ObjectNode addItem(String name, String item, Map<String, ObjectNode> place) {
        ObjectNode path = JsonNodeFactory.instance.objectNode();
        StringBuilder at = new StringBuilder(name);
        ArrayNode parameters = path.putArray("parameters");
        place.forEach((field, schema) -> {
            at.append("/{").append(field).append('}');
            parameters.addObject().put("name", field).put("in", "path").put("required", true).set("schema", schema);
        });
        answers(path.putObject("get").put("summary", description(item)).put("operationId", "get" + item), item);
        paths.set(at.toString(), path);
        return path;
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
        return component("responses/Problem");
    }

    private static ObjectNode component(String name) {
        return JsonNodeFactory.instance.objectNode().put("$ref", "#/components/" + name);
    }
}
