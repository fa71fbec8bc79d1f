// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;

/**
 * Another value of a setting, not yet in force.
 *
 * @param <V> what the system shows of itself
 */
public final class Change<V> {
    private final String event;
    private final String title;
    private final boolean isNotice;
    private final Event.Order order;
    private final ObjectNode told;
    private final Function<V, ObjectNode> audited;
    private final String key;
    private final Optional<String> stored;

    Change(String event, String title, boolean isNotice, Event.Order order, ObjectNode told, Function<V, ObjectNode> audited, String key,
            Optional<String> stored) {
        this.event = event;
        this.title = title;
        this.isNotice = isNotice;
        this.order = order;
        this.told = told;
        this.audited = audited;
        this.key = key;
        this.stored = stored;
    }

    /** The key of the setting in notices, and its event in the audit log. */
    public String event() {
        return event;
    }

    /** The setting, for a sentence such as "a capacity cannot be stored". */
    public String title() {
        return title;
    }

    /** Returns whether it is noticed, audited and, unless it takes something back, stored. */
    boolean isNotice() {
        return isNotice;
    }

    /** The order that makes the system apply it. */
    public Event.Order order() {
        return order;
    }

    /** The setting as it is from now on. */
    public ObjectNode told() {
        return told;
    }

    /** Returns the entry of the audit log, {@code before} being the view until now. */
    public ObjectNode audited(V before) {
        return audited.apply(before);
    }

    /** Stores it over restarts. Throws IOException if that cannot be done, and changes nothing then. */
    public void store(AppState state) throws IOException {
        if (stored.isPresent()) {
            state.keep(key, stored.get());
        } else if (state.all().containsKey(key)) {
            Map<String, String> rest = new TreeMap<>(state.all());
            rest.remove(key);
            state.keepOnly(rest);
        }
    }
}
