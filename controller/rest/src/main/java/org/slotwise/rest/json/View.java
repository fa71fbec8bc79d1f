// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializable;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.jsontype.TypeSerializer;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.POJONode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * Form of a value in answers: one declaration gives its writing and its JSON schema. {@link Shape} has the form of values that are read, too.
 *
 * @param <T> the value
 */
public class View<T> {
    /** Integer from 0 on. */
    public static final View<Number> COUNT = integer(0).named("Count");
    /** Any integer. */
    public static final View<Number> INTEGER = new View<>(schema("integer"), View::number, List.of());
    /** Text. */
    public static final View<String> TEXT = new View<>(schema("string"), TextNode::valueOf, List.of());
    /** True or false. */
    public static final View<Boolean> FLAG = new View<>(schema("boolean"), BooleanNode::valueOf, List.of());
    private static final String DESCRIPTION = "description";

    private final ObjectNode schema;
    private final Function<? super T, ? extends JsonNode> writer;
    /** Views that this one has parts of. */
    private final List<View<?>> parts;

    View(ObjectNode schema, Function<? super T, ? extends JsonNode> writer, List<View<?>> parts) {
        this.schema = schema;
        this.writer = writer;
        this.parts = parts;
    }

    static ObjectNode schema(String type) {
        return JsonNodeFactory.instance.objectNode().put("type", type);
    }

    private static JsonNode number(Number value) {
        return value instanceof Double ? DoubleNode.valueOf(value.doubleValue()) : LongNode.valueOf(value.longValue());
    }

    /** Returns an integer from {@code low} on. */
    public static View<Number> integer(long low) {
        return new View<>(schema("integer").put("minimum", low), View::number, List.of());
    }

    /** Returns an integer {@code low .. high}. */
    public static View<Number> integer(long low, long high) {
        return new View<>(schema("integer").put("minimum", low).put("maximum", high), View::number, List.of());
    }

    /** Returns a number {@code low .. high}. */
    public static View<Number> number(double low, double high) {
        return new View<>(schema("number").put("minimum", low).put("maximum", high), View::number, List.of());
    }

    /** Returns text that is one of these values. */
    public static View<String> oneOf(String... values) {
        ObjectNode schema = schema("string");
        Arrays.stream(values).forEach(schema.withArray("enum")::add);
        return new View<>(schema, TextNode::valueOf, List.of());
    }

    /** Returns text of this pattern. */
    public static View<String> pattern(String pattern) {
        return new View<>(schema("string").put("pattern", pattern), TextNode::valueOf, List.of());
    }

    /** Returns text that names one of these constants, by {@code spelled}. */
    public static <E extends Enum<E>> View<E> oneOf(Function<? super E, String> spelled, E[] values) {
        return oneOf(Arrays.stream(values).map(spelled).toArray(String[]::new)).of(spelled);
    }

    /** Returns what this function writes. */
    public static <T> View<T> of(ObjectNode schema, Function<? super T, ? extends JsonNode> writer) {
        return new View<>(schema, writer, List.of());
    }

    /** Returns counts by reason, in lower case. */
    public static <E extends Enum<E>> View<Map<E, Long>> counts(E[] reasons) {
        String[] names = Arrays.stream(reasons).map(View::lower).toArray(String[]::new);
        return map(COUNT, names).of(counts -> {
            Map<String, Long> named = new LinkedHashMap<>();
            counts.forEach((reason, count) -> named.put(lower(reason), count));
            return named;
        });
    }

    /** Returns the name of a constant in lower case. */
    public static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    /** Returns all elements, in order. */
    public static <E> View<Iterable<? extends E>> list(View<E> element) {
        ObjectNode schema = schema("array");
        schema.set("items", element.schema);
        return new View<>(schema, all -> {
            ArrayNode array = JsonNodeFactory.instance.arrayNode();
            all.forEach(each -> array.add(element.write(each)));
            return array;
        }, List.of(element));
    }

    /** Returns all elements, each written with the answer; for long lists, without a tree of all of them. */
    public static <E> View<Iterable<? extends E>> longList(View<E> element) {
        return new View<>(list(element).schema, all -> new POJONode(new JsonSerializable.Base() {
            @Override
            public void serialize(JsonGenerator json, SerializerProvider serializers) throws IOException {
                json.writeStartArray();
                for (E each : all) {
                    ((JsonSerializable) element.write(each)).serialize(json, serializers);
                }
                json.writeEndArray();
            }

            @Override
            public void serializeWithType(JsonGenerator json, SerializerProvider serializers, TypeSerializer type) throws IOException {
                serialize(json, serializers);
            }
        }), List.of(element));
    }

    /** Returns values by name; these names are required. */
    public static <E> View<Map<String, ? extends E>> map(View<E> value, String... required) {
        ObjectNode schema = schema("object");
        if (required.length > 0) {
            Arrays.stream(required).forEach(schema.putArray("required")::add);
        }
        schema.set("additionalProperties", value.schema);
        return new View<>(schema, all -> {
            ObjectNode object = JsonNodeFactory.instance.objectNode();
            all.forEach((name, each) -> object.set(name, value.write(each)));
            return object;
        }, List.of(value));
    }

    /** Returns an object without fields yet. */
    public static <T> Fields<T> object() {
        return new Fields<>(schema("object"));
    }

    /** Returns an object without fields yet, with a sentence of the document. */
    public static <T> Fields<T> object(String description) {
        return new Fields<>(JsonNodeFactory.instance.objectNode().put(DESCRIPTION, description).put("type", "object"));
    }

    /** Returns the same for a value that has or is one of these. */
    public <U> View<U> of(Function<? super U, ? extends T> to) {
        return new View<>(schema, value -> write(to.apply(value)), parts);
    }

    /** Returns the same; null without a value. */
    public View<Optional<? extends T>> orNull() {
        ObjectNode nullable = schema.deepCopy();
        nullable.putArray("type").add(schema.get("type")).add("null");
        if (nullable.has("enum")) {
            nullable.withArray("enum").addNull();
        }
        return new View<>(nullable, value -> value.<JsonNode>map(this::write).orElse(NullNode.instance), parts);
    }

    /** Returns the same with a bound of the number of elements. */
    public View<T> items(int low, int high) {
        return new View<>(schema.deepCopy().put("minItems", low).put("maxItems", high), writer, parts);
    }

    /** Returns the same with a sentence of the document. */
    public View<T> described(String description) {
        ObjectNode described = JsonNodeFactory.instance.objectNode().put(DESCRIPTION, description);
        described.setAll(schema);
        return new View<>(described, writer, parts);
    }

    /** Returns the same with a schema that is a component of the document. */
    public View<T> named(String name) {
        List<View<?>> whole = new ArrayList<>(parts);
        whole.add(new Component(name, schema));
        return new View<>(Shape.reference(name), writer, whole);
    }

    /** Schema that is a component of the document. */
    private static final class Component extends View<Object> {
        private final String name;

        Component(String name, ObjectNode schema) {
            super(schema, value -> NullNode.instance, List.of());
            this.name = name;
        }
    }

    /** Writes a value. */
    public final JsonNode write(T value) {
        return writer.apply(value);
    }

    /** Returns the schema. */
    public final ObjectNode schema() {
        return schema;
    }

    /** Adds the schemas of components that it refers to, by name. */
    public final void components(ObjectNode all) {
        for (View<?> part : parts) {
            part.components(all);
            if (part instanceof Component) {
                all.set(((Component) part).name, ((View<?>) part).schema);
            }
        }
    }

    /**
     * Object with fields, in order.
     *
     * @param <T> the value
     */
    public static final class Fields<T> extends View<T> {
        private final List<View<?>> types;
        private final List<Field<T>> fields;

        private Fields(ObjectNode schema) {
            this(schema, new ArrayList<>(), new ArrayList<>());
            schema.putArray("required");
            schema.put("additionalProperties", false).putObject("properties");
        }

        private Fields(ObjectNode schema, List<View<?>> types, List<Field<T>> fields) {
            super(schema, value -> {
                ObjectNode object = JsonNodeFactory.instance.objectNode();
                fields.forEach(field -> field.add(value, object));
                return object;
            }, types);
            this.types = types;
            this.fields = fields;
        }

        private interface Field<T> {
            void add(T value, ObjectNode to);
        }

        /** Adds a field. */
        public <X> Fields<T> field(String name, View<? super X> type, Function<? super T, ? extends X> get) {
            schema().withArray("required").add(name);
            return add(name, type, (value, object) -> object.set(name, type.write(get.apply(value))));
        }

        /** Adds a field that is omitted without a value. */
        public <X> Fields<T> optional(String name, View<? super X> type, Function<? super T, Optional<? extends X>> get) {
            return add(name, type, (value, object) -> get.apply(value).ifPresent(there -> object.set(name, type.write(there))));
        }

        /** Adds a number that is omitted without a value. */
        public Fields<T> optionalNumber(String name, View<Number> type, Function<? super T, OptionalLong> get) {
            return optional(name, type, value -> {
                OptionalLong number = get.apply(value);
                return number.isPresent() ? Optional.of(number.getAsLong()) : Optional.empty();
            });
        }

        /** Adds the fields of a part of the value. */
        public <X> Fields<T> all(Fields<X> others, Function<? super T, ? extends X> get) {
            schema().withArray("required").addAll((ArrayNode) others.schema().get("required"));
            properties().setAll((ObjectNode) others.schema().get("properties"));
            types.addAll(others.types);
            fields.add((value, object) -> others.fields.forEach(field -> field.add(get.apply(value), object)));
            return this;
        }

        private ObjectNode properties() {
            return (ObjectNode) schema().get("properties");
        }

        private Fields<T> add(String name, View<?> type, Field<T> field) {
            properties().set(name, type.schema());
            types.add(type);
            fields.add(field);
            return this;
        }
    }
}
