// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.control.topology.Topology;

/** Host of one system, in the thread of the caller, which stores in a map. */
public final class OneSystem<V> implements SystemHost {
    private final SystemPart<V> part;
    private final App<V> app;
    private final Map<String, String> stored;
    private final List<ObjectNode> audited = new ArrayList<>();
    private int unstored;

    /** Takes the system, and what is stored of it. */
    public OneSystem(SystemPart<V> part, Map<String, String> stored) {
        this.part = part;
        this.stored = stored;
        this.app = part.make(state());
        part.stored(state()).forEach(order -> app.onEvent(0, order));
    }

    /** Returns the resources of a system with nothing stored. */
    public static <V> SystemResources<V> of(SystemPart<V> part) {
        return new OneSystem<>(part, new TreeMap<>()).resources();
    }

    /** Returns the resources of a table, which shows nothing. */
    public static SystemResources<Object> of(ResourceTable<Object> table) {
        return new SystemResources<>(new SystemPart<>(new Topology.Builder().build(), () -> null, table), new SystemHost() {
            @Override
            public <V> V view(SystemPart<V> system) {
                return null;
            }

            @Override
            public void order(SystemPart<?> system, Event.Order order) {
                throw new AssertionError("nobody orders anything");
            }

            @Override
            public <V> void change(SystemPart<V> system, Change<V> change) {
                throw new AssertionError("nobody changes anything");
            }
        });
    }

    /** Its resources. */
    public SystemResources<V> resources() {
        return new SystemResources<>(part, this);
    }

    /** Its application. */
    public App<V> app() {
        return app;
    }

    /** Lines of the audit log. */
    public List<ObjectNode> audited() {
        return audited;
    }

    /** Count of orders that nobody stores. */
    public int unstored() {
        return unstored;
    }

    private AppState state() {
        return new AppState() {
            @Override
            public Map<String, String> all() {
                return new TreeMap<>(stored);
            }

            @Override
            public void keep(String key, String value) {
                stored.put(key, value);
            }

            @Override
            public void keepOnly(Map<String, String> texts) {
                stored.clear();
                stored.putAll(texts);
            }
        };
    }

    @Override
    @SuppressWarnings("unchecked")
    public <W> W view(SystemPart<W> system) {
        return (W) app.view();
    }

    @Override
    public void order(SystemPart<?> system, Event.Order order) {
        unstored++;
        app.onEvent(0, order);
    }

    @Override
    public <W> void change(SystemPart<W> system, Change<W> change) {
        audited.add(change.audited(view(system)));
        try {
            change.store(state());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        app.onEvent(0, change.order());
    }
}
