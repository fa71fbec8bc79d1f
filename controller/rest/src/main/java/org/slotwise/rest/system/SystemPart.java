// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.Topology;

/**
 * System's part of a network, read and checked: its switches, its application, its resources.
 *
 * @param <V> what the system shows of itself
 */
public class SystemPart<V> {
    private final Topology topology;
    private final Supplier<App<V>> app;
    private final ResourceTable<V> resources;

    /** Takes its switches, links and hosts, what makes its application, and its resources. */
    public SystemPart(Topology topology, Supplier<App<V>> app, ResourceTable<V> resources) {
        this.topology = topology;
        this.app = app;
        this.resources = resources;
    }

    /** Its name. */
    public final String id() {
        return resources.id();
    }

    /** Its switches, links and hosts. */
    public final Topology topology() {
        return topology;
    }

    /** Its resources. */
    public final ResourceTable<V> resources() {
        return resources;
    }

    /** Makes its application as it is to begin, with what is stored of it. */
    public App<V> make(AppState stored) {
        return app.get();
    }

    /** Returns the orders that apply stored settings before it begins; what does not hold any more is discarded. */
    public List<Event.Order> stored(AppState state) {
        return resources.stored(state);
    }

    /** Returns the packets by which it commits switches to versions; empty if it has none. */
    public Optional<CommitProtocol> commits() {
        return Optional.empty();
    }

    /** Does, before it begins, what would be slow when it is needed first. */
    public void practise(AppState stored) {
    }

    /** Adds to what a host says when all switches are configured. */
    public void describe(AppState stored, ObjectNode ready) {
    }

    /** Returns the line that a notice leaves in the log of all that came into force, {@code event} being its kind; empty if it is none for that. */
    public Optional<ObjectNode> history(Command.Notice notice) {
        return Optional.empty();
    }
}
