// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Fields of a JSON object that stand for one value: reading, writing and the JSON schema follow from one declaration.
 *
 * @param <T> the value
 */
public final class Shape<T> {
    private final Map<String, ObjectNode> fields;
    private final Map<String, ObjectNode> shown;
    private final Set<String> optional;
    private final Reader<T> reader;
    private final BiConsumer<T, ObjectNode> writer;

    /** Reads a value from an object whose fields are known by name. */
    public interface Reader<T> {
        /** Returns the value; throws for what makes none, with the place. */
        T read(JsonFields fields) throws InvalidJsonException;
    }

    private Shape(Map<String, ObjectNode> fields, Map<String, ObjectNode> shown, Set<String> optional, Reader<T> reader,
            BiConsumer<T, ObjectNode> writer) {
        this.fields = fields;
        this.shown = shown;
        this.optional = optional;
        this.reader = reader;
        this.writer = writer;
    }

    private static <T> Shape<T> one(String name, ObjectNode schema, Reader<T> reader, BiConsumer<T, ObjectNode> writer) {
        return new Shape<>(Map.of(name, schema), Map.of(), Set.of(), reader, writer);
    }

    private static ObjectNode schema(String type) {
        return JsonNodeFactory.instance.objectNode().put("type", type);
    }

    /** Takes the reader and writer of fields with these names, whose schemas are {@link #field said} apart. */
    public static <T> Shape<T> of(Reader<T> reader, BiConsumer<T, ObjectNode> writer, String... names) {
        Map<String, ObjectNode> fields = new LinkedHashMap<>();
        Arrays.stream(names).forEach(name -> fields.put(name, JsonNodeFactory.instance.objectNode()));
        return new Shape<>(fields, Map.of(), Set.of(), reader, writer);
    }

    /** Returns an integer {@code low .. high}. */
    public static Shape<Long> integer(String name, long low, long high) {
        return one(name, schema("integer").put("minimum", low).put("maximum", high),
                fields -> fields.integer(name, low, high), (value, node) -> node.put(name, value));
    }

    /** Returns an integer {@code low .. high}. */
    public static Shape<Integer> integer(String name, int low, int high) {
        return one(name, schema("integer").put("minimum", low).put("maximum", high),
                fields -> (int) fields.integer(name, low, high), (value, node) -> node.put(name, value));
    }

    /** Returns a number {@code low .. high}. */
    public static Shape<Double> number(String name, double low, double high) {
        return one(name, schema("number").put("minimum", low).put("maximum", high),
                fields -> fields.number(name, low, high), (value, node) -> node.put(name, value));
    }

    /** Returns a number above 0 and at most 1. */
    public static Shape<Double> partAboveZero(String name) {
        return one(name, schema("number").put("exclusiveMinimum", 0).put("maximum", 1),
                fields -> fields.partAboveZero(name), (value, node) -> node.put(name, value));
    }

    /** Returns true or false. */
    public static Shape<Boolean> flag(String name) {
        return one(name, schema("boolean"), fields -> fields.flag(name), (value, node) -> node.put(name, value));
    }

    /** Returns text that names one of these values. */
    public static <E extends Enum<E>> Shape<E> choice(String name, E[] values) {
        ObjectNode schema = JsonNodeFactory.instance.objectNode();
        Arrays.stream(values).forEach(value -> schema.withArray("enum").add(JsonFields.spelled(value)));
        return one(name, schema, fields -> fields.choice(name, values), (value, node) -> node.put(name, JsonFields.spelled(value)));
    }

    /** Returns the same fields for another value. */
    public <U> Shape<U> as(Function<T, U> to, Function<U, T> from) {
        return new Shape<>(fields, shown, optional, given -> to.apply(read(given)), (value, node) -> writer.accept(from.apply(value), node));
    }

    /** Returns this shape's fields, then those of another. */
    public <S, U> Shape<U> and(Shape<S> other, BiFunction<T, S, U> join, Function<U, T> first, Function<U, S> second) {
        return new Shape<>(both(fields, other.fields), both(shown, other.shown), both(optional, other.optional),
                given -> join.apply(read(given), other.read(given)), (value, node) -> {
            writer.accept(first.apply(value), node);
            other.writer.accept(second.apply(value), node);
        });
    }

    private static Map<String, ObjectNode> both(Map<String, ObjectNode> some, Map<String, ObjectNode> others) {
        Map<String, ObjectNode> all = new LinkedHashMap<>(some);
        all.putAll(others);
        return all;
    }

    private static Set<String> both(Set<String> some, Set<String> others) {
        Set<String> all = new HashSet<>(some);
        all.addAll(others);
        return all;
    }

    /** Says the schema of a field. */
    public Shape<T> field(String name, ObjectNode schema) {
        return new Shape<>(both(fields, Map.of(name, schema)), shown, optional, reader, writer);
    }

    /** Says of a field that it may be omitted where it is read. */
    public Shape<T> optional(String name) {
        return new Shape<>(fields, shown, both(optional, Set.of(name)), reader, writer);
    }

    /** Adds a field that the writer writes and nobody sends. */
    public Shape<T> shown(String name, ObjectNode schema) {
        return new Shape<>(fields, both(shown, Map.of(name, schema)), optional, reader, writer);
    }

    /** Returns a reference to a schema of the OpenAPI document. */
    public static ObjectNode reference(String name) {
        return JsonNodeFactory.instance.objectNode().put("$ref", "#/components/schemas/" + name);
    }

    /** Schemas of the fields that are read, by name, in order. */
    public Map<String, ObjectNode> fields() {
        return Collections.unmodifiableMap(fields);
    }

    /** Names of the fields that are read. */
    public List<String> names() {
        return List.copyOf(fields.keySet());
    }

    /** Returns the schema of an object with the fields of these shapes as it is sent, or as it is shown. */
    public static ObjectNode schema(boolean isShown, Shape<?>... shapes) {
        ObjectNode schema = schema("object");
        ArrayNode required = schema.putArray("required");
        ObjectNode properties = schema.put("additionalProperties", false).putObject("properties");
        for (Shape<?> shape : shapes) {
            properties.setAll(shape.fields);
            shape.fields.keySet().stream().filter(name -> isShown || !shape.optional.contains(name)).forEach(required::add);
            if (isShown) {
                properties.setAll(shape.shown);
                shape.shown.keySet().forEach(required::add);
            }
        }
        return schema;
    }

    /** Opens an object that has fields of these shapes and no others. */
    public static JsonFields open(JsonNode value, Shape<?>... shapes) throws InvalidJsonException {
        return JsonFields.of("", value, Arrays.stream(shapes).flatMap(shape -> shape.names().stream()).toArray(String[]::new));
    }

    /** Reads the value. */
    public T read(JsonFields given) throws InvalidJsonException {
        return reader.read(given);
    }

    /** Adds the fields of a value to an object, and returns that. */
    public ObjectNode write(T value, ObjectNode node) {
        writer.accept(value, node);
        return node;
    }

    /** Writes a value as an object. */
    public ObjectNode write(T value) {
        return write(value, JsonNodeFactory.instance.objectNode());
    }
}
