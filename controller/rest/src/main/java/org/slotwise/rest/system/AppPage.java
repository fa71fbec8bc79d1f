// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

/** What an application says of itself on the live page, made of one view of it. {@code schema/stream.schema.json} has the parts. */
public final class AppPage {
    /** How something is. */
    public enum Condition {
        /** As people chose: another choice is news. */
        CHOSEN,
        /** As it should be: that is news after an alarm. */
        WELL,
        /** Not as it should be, which is news. */
        ALARM
    }

    /** What is said of a thing. */
    public static final class Said {
        private final Condition condition;
        private final String text;

        private Said(Condition condition, String text) {
            this.condition = Objects.requireNonNull(condition);
            this.text = Objects.requireNonNull(text);
        }

        /** How it is. */
        public Condition condition() {
            return condition;
        }

        /** The same for a person. */
        public String text() {
            return text;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Said && ((Said) other).condition == condition && ((Said) other).text.equals(text);
        }

        @Override
        public int hashCode() {
            return Objects.hash(condition, text);
        }
    }

    /** How a star's frames are cut, and what an edge's slot carries. */
    public static final class Shape {
        private final int cores;
        private final List<Long> slotBytes = new ArrayList<>();
        private final ObjectNode frame;

        /** Takes a frame as in {@code hello}. */
        public Shape(int cores, List<Long> slotBytes, ObjectNode frame) {
            this.cores = cores;
            this.slotBytes.addAll(slotBytes);
            this.frame = frame;
        }

        /** Writes it to {@code hello} and to {@code network} there. */
        public void write(ObjectNode hello, ObjectNode network) {
            ArrayNode bytes = network.put("edges", slotBytes.size()).put("cores", cores).putArray("slot_bytes");
            slotBytes.forEach(bytes::add);
            hello.set("frame", frame);
        }
    }

    private final String kind;
    private Shape shape;
    private ObjectNode star;
    private final Map<String, Map<String, Map<String, Number>>> tables = new LinkedHashMap<>();
    private final Map<String, Said> said = new LinkedHashMap<>();

    /** Takes the kind of network that it makes of one: star, routers, ring, ops or lambda. */
    public AppPage(String kind) {
        this.kind = Objects.requireNonNull(kind);
    }

    /** Of stars: how they are cut, and pairs of edges as in {@code update}. */
    public AppPage star(Shape of, ObjectNode pairs) {
        shape = of;
        star = pairs;
        return this;
    }

    /** That there is a table, though nothing may be in it. */
    public AppPage table(String table) {
        tables.computeIfAbsent(table, any -> new LinkedHashMap<>());
        return this;
    }

    /** A thing in a table, with a number a column. */
    public AppPage row(String table, String thing, Map<String, ? extends Number> columns) {
        table(table);
        tables.get(table).put(thing, new TreeMap<>(columns));
        return this;
    }

    /** What is to be said of a thing. */
    public AppPage says(String thing, Condition condition, String text) {
        said.put(thing, new Said(condition, text));
        return this;
    }

    /** Whether a switch is there. */
    public AppPage switchIs(String name, boolean isReady) {
        return says(name, isReady ? Condition.WELL : Condition.ALARM, name + (isReady ? " connected" : " disconnected"));
    }

    /** Whether a port has light. */
    public AppPage portIs(String name, boolean hasLight) {
        return says("port " + name, hasLight ? Condition.WELL : Condition.ALARM, name + (hasLight ? " is up" : " is down"));
    }

    /** The kind of network. */
    public String kind() {
        return kind;
    }

    /** How a star is cut. */
    public Optional<Shape> shape() {
        return Optional.ofNullable(shape);
    }

    /** Pairs of edges of a star. */
    public Optional<ObjectNode> star() {
        return Optional.ofNullable(star);
    }

    /** Things by table, then by name, then by column. */
    public Map<String, Map<String, Map<String, Number>>> tables() {
        return tables;
    }

    /** What is said, by thing. */
    public Map<String, Said> said() {
        return said;
    }
}
