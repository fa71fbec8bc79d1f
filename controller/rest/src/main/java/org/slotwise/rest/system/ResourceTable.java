// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.json.View;

/**
 * Resources of a system, a row each: what can be read, and what can be changed. Everything that REST, metrics and the store need
 * of a system is declared here.
 *
 * @param <V> what the system shows of itself
 */
public final class ResourceTable<V> {
    private static final Logger LOG = LoggerFactory.getLogger(ResourceTable.class);

    /** End of the name of a schema of what a resource lists. */
    static final String ITEM = "Item";

    private final String id;
    private final String description;
    private final Map<String, View<? super V>> reads = new LinkedHashMap<>();
    private final Map<String, Function<V, List<String>>> texts = new LinkedHashMap<>();
    private final Map<String, SystemSetting<V, ?, ?>> settings = new LinkedHashMap<>();
    private final Map<String, Items<V>> items = new LinkedHashMap<>();
    private final List<StoredValues> stored = new ArrayList<>();
    private Function<V, List<Metric>> metrics = view -> List.of();

    /** Takes the system's name and one sentence. */
    public ResourceTable(String id, String description) {
        this.id = id;
        this.description = description;
    }

    /** Adds a resource that can be read. */
    public ResourceTable<V> read(String name, View<? super V> shown) {
        reads.put(name, shown);
        return this;
    }

    /** Gives a resource a form for a terminal, a line each. */
    public ResourceTable<V> text(String name, Function<V, List<String>> lines) {
        texts.put(name, lines);
        return this;
    }

    /** Adds a resource for each of what a resource lists, below it; each can be changed. */
    public ResourceTable<V> items(String name, Items<V> below) {
        items.put(name, below);
        return this;
    }

    /** Adds values that are stored over restarts, which others create. */
    public ResourceTable<V> stored(NamedSetting<V, ?> setting) {
        stored.add(setting);
        return this;
    }

    /** Adds a setting with one value. */
    public ResourceTable<V> setting(String name, SystemSetting<V, ?, ?> setting) {
        return setting(name, name, setting);
    }

    /** Adds a setting, which lists its values under {@code list}. */
    public ResourceTable<V> setting(String name, String list, SystemSetting<V, ?, ?> setting) {
        stored.add(setting);
        settings.put(name, setting);
        items.put(name, setting);
        return read(name, setting.view(list, type(name) + ITEM));
    }

    /** Adds what is counted and measured of it. */
    public ResourceTable<V> metrics(Function<V, List<Metric>> measured) {
        this.metrics = measured;
        return this;
    }

    /** Returns the orders that apply stored values, in the order of settings, of those that still hold; the others are discarded. */
    List<Event.Order> stored(AppState state) {
        Map<String, String> all = state.all();
        Map<String, Event.Order> orders = new LinkedHashMap<>();
        stored.forEach(setting -> orders.putAll(setting.orders(all)));
        Map<String, String> holding = new TreeMap<>(all);
        holding.keySet().retainAll(orders.keySet());
        if (holding.size() < all.size()) {
            LOG.warn("discarded {} stored settings: target missing or reconfigured", all.size() - holding.size());
            try {
                state.keepOnly(holding);
            } catch (IOException e) {
                LOG.warn("could not discard stored settings, retrying at the next start: {}", e.getMessage());
            }
        }
        return new ArrayList<>(orders.values());
    }

    String id() {
        return id;
    }

    String description() {
        return description;
    }

    /** Returns settings by name of the resource. */
    Map<String, SystemSetting<V, ?, ?>> settings() {
        return settings;
    }

    /** Returns values that can be changed, by the name of the resource that has or lists them. */
    Map<String, Items<V>> items() {
        return items;
    }

    /** Returns the name of a resource's schema, such as {@code OpsRoutes}. */
    String type(String name) {
        return capital(id) + capital(name);
    }

    private static String capital(String text) {
        return text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1);
    }

    Map<String, View<? super V>> reads() {
        return reads;
    }

    Map<String, Function<V, List<String>>> texts() {
        return texts;
    }

    /** Returns whether a cluster of controllers cannot change a resource. */
    boolean isLocal(String name) {
        return settings.containsKey(name) && !settings.get(name).isShared();
    }

    List<Metric> metrics(V view) {
        return metrics.apply(view);
    }
}
