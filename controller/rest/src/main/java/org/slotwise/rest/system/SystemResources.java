// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;

/**
 * Resources of one system that runs on a host. May be used from any thread; methods that reach the system throw
 * {@link org.slotwise.rest.ControllerService.UnavailableException} if the controller does not answer.
 *
 * @param <V> what the system shows of itself
 */
public final class SystemResources<V> {
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,17}");

    private final SystemPart<V> part;
    private final ResourceTable<V> table;
    private final SystemHost host;

    /** Resource at a path below the system's. */
    public interface Resource {
        /** Returns what holds; empty if there is nothing. */
        Optional<JsonNode> read();

        /** Returns whether it can be changed, though maybe not on this host. */
        boolean canChange();

        /**
         * Changes the value on a condition. Returns the new value; empty if the network has no such place. Throws for an invalid body,
         * {@link NotHereException} or {@link NotOnThisHostException}.
         */
        Optional<JsonNode> put(JsonNode body, Condition condition) throws InvalidJsonException;

        /** Returns whether it can go. */
        boolean canDelete();

        /** Removes the value on a condition. Returns false if there was none. */
        boolean delete(Condition condition);

        /** Returns the reason why there is nothing. */
        String unknown();
    }

    /** Condition of a change. */
    public interface Condition {
        /** No condition. */
        Condition NONE = now -> { };

        /** Throws if the current value, or its absence, does not satisfy the condition. */
        void check(Optional<JsonNode> now);
    }

    /** Refusal of what makes sense, but not for this network. */
    public static final class NotHereException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason, which callers may see. */
        public NotHereException(String reason) {
            super(reason);
        }
    }

    /** Refusal of what can never be changed on this host. */
    public static final class NotOnThisHostException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NotOnThisHostException() {
            super("not supported by this controller");
        }
    }

    /** Takes the system and its host. */
    public SystemResources(SystemPart<V> part, SystemHost host) {
        this.part = part;
        this.table = part.resources();
        this.host = host;
    }

    /** The system's name. */
    public String id() {
        return table.id();
    }

    /** One sentence. */
    public String description() {
        return table.description();
    }

    /** What it shows now. */
    public V view() {
        return host.view(part);
    }

    /** Gives it an order that nobody stores. */
    public void order(Event.Order order) {
        host.order(part, order);
    }

    /**
     * Applies a change, and returns what holds now. Throws {@link org.slotwise.rest.ControllerService.NotKeptException} if it cannot be
     * stored; it is not applied then.
     */
    public JsonNode apply(Change<V> change) {
        if (change.isNotice()) {
            host.change(part, change);
        } else {
            host.order(part, change.order());
        }
        return change.told();
    }

    /** Resources that can be read, by name. */
    public Map<String, Supplier<JsonNode>> reads() {
        return bound(table.reads(), shown -> () -> shown.write(view()));
    }

    /** Resources as text for a terminal, by name: a line each. */
    public Map<String, Supplier<List<String>>> texts() {
        return bound(table.texts(), shown -> () -> shown.apply(view()));
    }

    /** Returns whether a resource, or what it lists, can be changed on this host. */
    public boolean canChange(String name) {
        return table.items().containsKey(name) && !isFixed(name);
    }

    private boolean isFixed(String name) {
        return host.isCluster() && table.isLocal(name);
    }

    /** Returns the resource at a path, its name first; empty if no network has any there. */
    public Optional<Resource> at(List<String> path) {
        String name = path.get(0);
        List<String> below = path.subList(1, path.size());
        Optional<Items<V>> items = Optional.ofNullable(table.items().get(name)).filter(known -> known.place().size() == below.size());
        if (!table.reads().containsKey(name) || items.isEmpty() && !below.isEmpty()) {
            return Optional.empty();
        }
        ObjectNode place = JsonNodeFactory.instance.objectNode();
        Iterator<String> segments = below.iterator();
        items.ifPresent(known -> known.place().keySet().forEach(field -> place.set(field, segment(segments.next()))));
        return Optional.of(new At(name, items, place));
    }

    /** Reads the resource at a path such as {@code weights/1}; throws for an unknown path. */
    public JsonNode read(String path) throws InvalidJsonException {
        Resource found = find(path);
        return found.read().orElseThrow(() -> new InvalidJsonException(path, found.unknown()));
    }

    /** Changes the resource at a path, and returns what holds now; throws for an unknown path and for an invalid body. */
    public JsonNode change(String path, JsonNode body) throws InvalidJsonException {
        Resource found = find(path);
        if (!found.canChange()) {
            throw new InvalidJsonException("resource", "read-only resource '" + path + "'");
        }
        return found.put(body, Condition.NONE).orElseThrow(() -> new InvalidJsonException(path, found.unknown()));
    }

    /** Removes the resource at a path; throws for an unknown path, and if it cannot be removed. */
    public void delete(String path) throws InvalidJsonException {
        Resource found = find(path);
        if (!found.canDelete()) {
            throw new InvalidJsonException("resource", "permanent resource '" + path + "'");
        }
        if (!found.delete(Condition.NONE)) {
            throw new InvalidJsonException(path, found.unknown());
        }
    }

    private Resource find(String path) throws InvalidJsonException {
        return at(Arrays.asList(path.split("/", -1))).orElseThrow(() -> new InvalidJsonException("resource",
                "unknown resource '" + path + "'; expected one of " + String.join(", ", table.reads().keySet())));
    }

    private final class At implements Resource {
        private final String name;
        private final Optional<Items<V>> items;
        private final ObjectNode place;

        At(String name, Optional<Items<V>> items, ObjectNode place) {
            this.name = name;
            this.items = items;
            this.place = place;
        }

        @Override
        public Optional<JsonNode> read() {
            return place.isEmpty() ? Optional.of(table.reads().get(name).write(view())) : items.orElseThrow().read(view(), place);
        }

        @Override
        public boolean canChange() {
            return items.isPresent();
        }

        @Override
        public Optional<JsonNode> put(JsonNode body, Condition condition) throws InvalidJsonException {
            if (isFixed(name)) {
                throw new NotOnThisHostException();
            }
            // Changes are serialized, so the checks below still hold when the change is applied.
            synchronized (table) {
                check(condition, canDelete());
                return items.orElseThrow().put(SystemResources.this, place, body);
            }
        }

        /** Checks a condition; an absent value is checked only if one could be added, since the change is rejected otherwise. */
        private void check(Condition condition, boolean alsoOfNothing) {
            if (condition != Condition.NONE) {
                Optional<JsonNode> now = read();
                if (now.isPresent() || alsoOfNothing) {
                    condition.check(now);
                }
            }
        }

        @Override
        public boolean canDelete() {
            return items.isPresent() && items.get().canDelete();
        }

        @Override
        public boolean delete(Condition condition) {
            synchronized (table) {
                check(condition, false);
                return items.orElseThrow().delete(SystemResources.this, place);
            }
        }

        @Override
        public String unknown() {
            return items.orElseThrow().unknown(place);
        }
    }

    /** A whole number, or text. */
    private static JsonNode segment(String text) {
        return NUMBER.matcher(text).matches() ? LongNode.valueOf(Long.parseLong(text)) : TextNode.valueOf(text);
    }

    private static <A, B> Map<String, B> bound(Map<String, A> declared, Function<A, B> bind) {
        Map<String, B> bound = new LinkedHashMap<>();
        declared.forEach((name, each) -> bound.put(name, bind.apply(each)));
        return bound;
    }

    /** What is counted and measured of it now. */
    public List<Metric> metrics() {
        return table.metrics(view());
    }
}
