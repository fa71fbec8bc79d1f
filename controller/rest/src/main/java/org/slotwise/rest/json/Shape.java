// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Fields of a JSON object that stand for one value, read and written by the same declaration.
 *
 * @param <T> the value
 */
public final class Shape<T> {
    private final List<String> names;
    private final Reader<T> reader;
    private final BiConsumer<T, ObjectNode> writer;

    /** Reads a value from an object whose fields are known by name. */
    public interface Reader<T> {
        /** Returns the value; throws for what makes none, with the place. */
        T read(JsonFields fields) throws InvalidJsonException;
    }

    private Shape(List<String> names, Reader<T> reader, BiConsumer<T, ObjectNode> writer) {
        this.names = names;
        this.reader = reader;
        this.writer = writer;
    }

    /** Takes the reader and writer of fields with these names; the writer may add fields that are only shown. */
    public static <T> Shape<T> of(Reader<T> reader, BiConsumer<T, ObjectNode> writer, String... names) {
        return new Shape<>(List.of(names), reader, writer);
    }

    /** Returns an integer {@code low .. high}. */
    public static Shape<Long> integer(String name, long low, long high) {
        return of(fields -> fields.integer(name, low, high), (value, node) -> node.put(name, value), name);
    }

    /** Returns an integer {@code low .. high}. */
    public static Shape<Integer> integer(String name, int low, int high) {
        return of(fields -> (int) fields.integer(name, low, high), (value, node) -> node.put(name, value), name);
    }

    /** Returns a number {@code low .. high}. */
    public static Shape<Double> number(String name, double low, double high) {
        return of(fields -> fields.number(name, low, high), (value, node) -> node.put(name, value), name);
    }

    /** Returns true or false. */
    public static Shape<Boolean> flag(String name) {
        return of(fields -> fields.flag(name), (value, node) -> node.put(name, value), name);
    }

    /** Returns text; {@code parse} throws IllegalArgumentException for text that makes no value. */
    public static <T> Shape<T> text(String name, Function<String, T> parse, Function<T, String> format) {
        return of(fields -> fields.parsed(name, parse), (value, node) -> node.put(name, format.apply(value)), name);
    }

    /** Returns the same fields for another value. */
    public <U> Shape<U> as(Function<T, U> to, Function<U, T> from) {
        return new Shape<>(names, fields -> to.apply(read(fields)), (value, node) -> writer.accept(from.apply(value), node));
    }

    /** Returns this shape's fields, then those of another. */
    public <S, U> Shape<U> and(Shape<S> other, BiFunction<T, S, U> join, Function<U, T> first, Function<U, S> second) {
        return new Shape<>(both(names, other.names), fields -> join.apply(read(fields), other.read(fields)), (value, node) -> {
            writer.accept(first.apply(value), node);
            other.writer.accept(second.apply(value), node);
        });
    }

    private static List<String> both(List<String> some, List<String> others) {
        List<String> all = new ArrayList<>(some);
        all.addAll(others);
        return List.copyOf(all);
    }

    /** Names of the fields. */
    public List<String> names() {
        return names;
    }

    /** Opens an object that has fields of these shapes and no others. */
    public static JsonFields open(JsonNode value, Shape<?>... shapes) throws InvalidJsonException {
        return JsonFields.of("", value, Arrays.stream(shapes).flatMap(shape -> shape.names.stream()).toArray(String[]::new));
    }

    /** Reads the value. */
    public T read(JsonFields fields) throws InvalidJsonException {
        return reader.read(fields);
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
