// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;

/**
 * Setting of a system with as many values as people give it, each with its name. A value is stored as it is; those of the
 * configuration are none of them.
 *
 * @param <V> what the system shows of itself
 * @param <T> a value
 */
public final class NamedSetting<V, T> implements StoredValues {
    private final String name;
    private final String title;
    private final Shape<T> shape;
    private final Function<T, String> named;
    private final Function<T, Event.Order> order;
    private final BiFunction<V, String, Optional<T>> now;

    /**
     * Takes its declaration.
     *
     * @param name one word: the beginning of its keys where it is stored, its key in notices, its event in the audit log
     * @param title the same for a sentence, with an article
     * @param shape the fields of a value that is stored
     * @param named the name of a value
     * @param order the order that applies a value
     * @param now the value of a name that is in force, if there is one
     */
    public NamedSetting(String name, String title, Shape<T> shape, Function<T, String> named, Function<T, Event.Order> order,
            BiFunction<V, String, Optional<T>> now) {
        this.name = name;
        this.title = title;
        this.shape = shape;
        this.named = named;
        this.order = order;
        this.now = now;
    }

    /** Returns the change to a value, which is stored only if {@code isStored}. */
    public Change<V> change(T value, boolean isStored) {
        ObjectNode told = shape.write(value);
        return change(named.apply(value), order.apply(value), told, isStored ? Optional.of(told.toString()) : Optional.empty());
    }

    /** Returns the change that removes the value of a name, with what says so. */
    public Change<V> removal(String of, Event.Order order, ObjectNode told) {
        return change(of, order, told, Optional.empty());
    }

    private Change<V> change(String of, Event.Order order, ObjectNode told, Optional<String> stored) {
        return new Change<>(name, title, true, order, told, view -> {
            ObjectNode entry = JsonNodeFactory.instance.objectNode();
            now.apply(view, of).ifPresent(before -> entry.set("before", shape.write(before)));
            entry.set("after", told);
            return entry;
        }, key(of), stored);
    }

    private String key(String of) {
        return name + "_" + of;
    }

    @Override
    public Map<String, Event.Order> orders(Map<String, String> texts) {
        Map<String, Event.Order> orders = new LinkedHashMap<>();
        new TreeMap<>(texts).forEach((key, text) -> {
            try {
                T value = shape.read(Shape.open(JsonFields.parse(text.getBytes(StandardCharsets.UTF_8)), shape));
                if (key.equals(key(named.apply(value)))) {
                    orders.put(key, order.apply(value));
                }
            } catch (InvalidJsonException e) {
                // Of another setting, or of a network that was another one.
            }
        });
        return orders;
    }
}
