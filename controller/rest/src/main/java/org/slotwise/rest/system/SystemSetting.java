// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;
import org.slotwise.rest.json.View;

/**
 * Setting of a system that can be changed while it runs, at one place or at each of several, such as the weight of each station. This one
 * declaration gives its resource, the order that applies it, its stored text, its notice, its line in the audit log, and its
 * reading after a restart. A value is stored with the configured one that it replaces, as in {@code 5 of 1}: where the configuration has changed
 * since, the configured value holds.
 *
 * @param <V> what the system shows of itself
 * @param <P> a place that has a value
 * @param <T> a value
 */
public final class SystemSetting<V, P, T> implements StoredValues, Items<V> {
    private static final Logger LOG = LoggerFactory.getLogger(SystemSetting.class);
    private static final String OF = " of ";
    private static final String HERE = "";
    private static final Shape<String> NO_PLACE = Shape.of(fields -> HERE, (value, node) -> { });

    private final String name;
    private final String title;
    private final Shape<P> place;
    private final Shape<T> value;
    private final Map<P, T> configured;
    private final Function<V, Map<P, T>> now;
    private final BiFunction<P, T, ? extends Event.Order> order;
    private String event;
    private boolean isStored = true;
    private boolean isShared = true;
    private String unavailable = "this network has none";
    private Function<P, String> unknown = at -> "";

    private SystemSetting(String name, String title, Shape<P> place, Shape<T> value, Map<P, T> configured, Function<V, Map<P, T>> now,
            BiFunction<P, T, ? extends Event.Order> order) {
        this.name = name;
        this.event = name;
        this.title = title;
        this.place = place;
        this.value = value;
        this.configured = configured;
        this.now = now;
        this.order = order;
    }

    /**
     * Returns a setting with a value at each of several places.
     *
     * @param name one word: its key where it is stored, in notices and in the audit log
     * @param title the same for a sentence, with an article
     * @param configured the value by place that the configuration has
     * @param now the value by place that is in force
     * @param order the order that applies a value; throws IllegalArgumentException for one that does not fit its place
     */
    public static <V, P, T> SystemSetting<V, P, T> each(String name, String title, Shape<P> place, Shape<T> value, Map<P, T> configured,
            Function<V, Map<P, T>> now, BiFunction<P, T, ? extends Event.Order> order) {
        return new SystemSetting<>(name, title, place, value, new LinkedHashMap<>(configured), now, order);
    }

    /** Returns a setting with one value. */
    public static <V, T> SystemSetting<V, String, T> one(String name, String title, Shape<T> value, T configured, Function<V, T> now,
            Function<T, ? extends Event.Order> order) {
        return new SystemSetting<>(name, title, NO_PLACE, value, Map.of(HERE, configured), view -> Map.of(HERE, now.apply(view)),
                (here, chosen) -> order.apply(chosen));
    }

    /** Gives notices and the audit log another name for it, one that several settings may share. */
    public SystemSetting<V, P, T> event(String newEvent) {
        this.event = newEvent;
        return this;
    }

    /** Makes it hold until a restart, without notice and audit. */
    public SystemSetting<V, P, T> unstored() {
        this.isStored = false;
        return this;
    }

    /** Makes it one that a cluster of controllers cannot share. */
    public SystemSetting<V, P, T> local() {
        this.isShared = false;
        return this;
    }

    /** Sets the reason for a network without a place. */
    public SystemSetting<V, P, T> unavailable(String reason) {
        this.unavailable = reason;
        return this;
    }

    /** Sets the text for a place that has none of it. */
    public SystemSetting<V, P, T> unknown(Function<P, String> reason) {
        this.unknown = reason;
        return this;
    }

    boolean isStored() {
        return isStored;
    }

    boolean isShared() {
        return isShared;
    }

    String title() {
        return title;
    }

    /** Returns the form of all of it: the one value, or the values by place as a list under {@code list}. */
    View<V> view(String list, String itemName) {
        View<Map.Entry<P, T>> one = View.of(shown(), this::write);
        if (place.names().isEmpty()) {
            return one.of(view -> now.apply(view).entrySet().iterator().next());
        }
        return View.<V>object("All values of " + title).field(list, View.list(one.named(itemName)), view -> now.apply(view).entrySet());
    }

    @Override
    public ObjectNode sent() {
        return described(Shape.schema(false, value));
    }

    @Override
    public ObjectNode shown() {
        return described(Shape.schema(true, place, value));
    }

    private ObjectNode described(ObjectNode schema) {
        return schema.put("description", Character.toUpperCase(title.charAt(0)) + title.substring(1));
    }

    private ObjectNode write(Map.Entry<P, T> one) {
        return value.write(one.getValue(), place.write(one.getKey()));
    }

    @Override
    public Map<String, ObjectNode> place() {
        return place.fields();
    }

    @Override
    public Optional<JsonNode> read(V view, ObjectNode at) {
        return at(at).flatMap(known -> Optional.ofNullable(now.apply(view).get(known)).map(one -> write(Map.entry(known, one))));
    }

    @Override
    public Optional<JsonNode> put(SystemResources<V> system, ObjectNode at, JsonNode body) throws InvalidJsonException {
        Optional<P> known = at(at);
        if (known.isEmpty()) {
            return Optional.empty();
        }
        if (configured.isEmpty()) {
            throw new SystemResources.NotHereException(unavailable);
        }
        return configured.containsKey(known.get()) ? Optional.of(system.apply(read(known.get(), Shape.open(body, value)))) : Optional.empty();
    }

    @Override
    public String unknown(ObjectNode at) {
        return at(at).map(unknown).filter(reason -> !reason.isEmpty()).orElseGet(() -> Items.super.unknown(at));
    }

    private Optional<P> at(ObjectNode at) {
        try {
            return Optional.of(place.read(Shape.open(at, place)));
        } catch (InvalidJsonException e) {
            return Optional.empty();
        }
    }

    private Change<V> read(P at, JsonFields fields) throws InvalidJsonException {
        T chosen = value.read(fields);
        try {
            return change(at, chosen);
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException("", e.getMessage());
        }
    }

    /** Returns the change to a value at a place; throws IllegalArgumentException if it does not fit there. */
    public Change<V> change(P at, T chosen) {
        T before = configured.get(at);
        ObjectNode told = value.write(chosen, place.write(at));
        String text = bare(chosen).toString();
        // A configured value is as good as none.
        Optional<String> stored = bare(before).toString().equals(text) ? Optional.empty() : Optional.of(text + OF + bare(before));
        return new Change<>(event, title, isStored, order.apply(at, chosen), told, view -> audited(at, chosen, view), key(at), stored);
    }

    private ObjectNode audited(P at, T chosen, V before) {
        ObjectNode entry = place.write(at);
        if (!event.equals(name)) {
            entry.put("setting", name);
        }
        entry.set("before", bare(now.apply(before).get(at)));
        entry.set("after", bare(chosen));
        return entry;
    }

    /** Writes a value without its place; one field as that field's value. */
    private JsonNode bare(T one) {
        ObjectNode node = value.write(one);
        return value.names().size() == 1 ? node.get(value.names().get(0)) : node;
    }

    private String key(P at) {
        ObjectNode written = place.write(at);
        return name + place.names().stream().map(field -> "_" + written.get(field).asText()).collect(Collectors.joining());
    }

    /** Returns the one value, if one is stored that still holds. */
    public Optional<T> stored(AppState state) {
        P at = configured.keySet().iterator().next();
        return Optional.ofNullable(state.all().get(key(at))).flatMap(text -> parse(at, text));
    }

    @Override
    public Map<String, Event.Order> orders(Map<String, String> texts) {
        Map<String, Event.Order> orders = new LinkedHashMap<>();
        if (isStored) {
            configured.keySet().forEach(at -> Optional.ofNullable(texts.get(key(at))).flatMap(text -> parse(at, text))
                    .flatMap(chosen -> fitting(at, chosen)).ifPresent(applied -> orders.put(key(at), applied)));
        }
        return orders;
    }

    private Optional<Event.Order> fitting(P at, T chosen) {
        try {
            return Optional.of(order.apply(at, chosen));
        } catch (IllegalArgumentException e) {
            return ignored(e);
        }
    }

    private Optional<T> parse(P at, String text) {
        String replaced = OF + bare(configured.get(at));
        if (!text.endsWith(replaced)) {
            return Optional.empty();
        }
        try {
            JsonNode parsed = JsonFields.parse(text.substring(0, text.length() - replaced.length()).getBytes(StandardCharsets.UTF_8));
            JsonNode object = value.names().size() == 1
                    ? JsonNodeFactory.instance.objectNode().set(value.names().get(0), parsed) : parsed;
            return Optional.of(value.read(Shape.open(object, value)));
        } catch (InvalidJsonException e) {
            return ignored(e);
        }
    }

    private <E> Optional<E> ignored(Exception e) {
        LOG.warn("ignored the stored value of {}: {}", title, e.getMessage());
        return Optional.empty();
    }
}
