// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
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

    /** Changes a resource. */
    public interface Changer {
        /** Takes the body, and returns what holds now; throws for a body that makes no sense, or {@link NotHereException}. */
        JsonNode apply(JsonNode body) throws InvalidJsonException;
    }

    /** One resource below one that lists such. */
    public interface Item {
        /** Returns what holds; empty if there is nothing. */
        Optional<JsonNode> read();

        /** Changes it, and returns what holds now; empty if the network has no place for it. */
        Optional<JsonNode> put(JsonNode body) throws InvalidJsonException;

        /** Returns whether it can go. */
        boolean canDelete();

        /** Removes it; returns false if there was nothing. */
        boolean delete();
    }

    /** Refusal of what makes sense, but not for this network. */
    public static final class NotHereException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason, which callers may see. */
        public NotHereException(String reason) {
            super(reason);
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
        return bound(table.reads(), shown -> () -> shown.apply(view()));
    }

    /** The part of one name, at most one, in the form of the whole, of resources that list what has names; by name of the resource. */
    public Map<String, Function<String, JsonNode>> parts() {
        return bound(table.parts(), (BiFunction<V, String, JsonNode> shown) -> name -> shown.apply(view(), name));
    }

    /** Resources as text for a terminal, by name: a line each. */
    public Map<String, Supplier<List<String>>> texts() {
        return bound(table.texts(), shown -> () -> shown.apply(view()));
    }

    /** Resources that can be changed on this host, by name; each can be read, too. */
    public Map<String, Changer> changes() {
        return bound(table.changes(host.isCluster()), changer -> body -> changer.change(this, body));
    }

    /** Returns whether a resource can be changed, though not on this host, now or later. */
    public boolean isFixed(String resource) {
        return table.changes(false).containsKey(resource) && !table.changes(host.isCluster()).containsKey(resource);
    }

    /** Returns what is below a resource at a place; empty if nothing ever is. */
    public Optional<Item> item(String resource, List<String> path) {
        Items<V> below = table.items().get(resource);
        if (below == null || below.place().size() != path.size()) {
            return Optional.empty();
        }
        ObjectNode place = JsonNodeFactory.instance.objectNode();
        Iterator<String> segments = path.iterator();
        below.place().keySet().forEach(field -> place.set(field, segment(segments.next())));
        return Optional.of(new Item() {
            @Override
            public Optional<JsonNode> read() {
                return below.read(view(), place);
            }

            @Override
            public Optional<JsonNode> put(JsonNode body) throws InvalidJsonException {
                return below.put(SystemResources.this, place, body);
            }

            @Override
            public boolean canDelete() {
                return below.canDelete();
            }

            @Override
            public boolean delete() {
                return below.delete(SystemResources.this, place);
            }
        });
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

    /** What it shows on the live page now; empty if it has nothing to show there. */
    public Optional<AppPage> page() {
        return table.page(view());
    }
}
