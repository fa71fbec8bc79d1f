// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.Topology;

/**
 * An application's part of a network, read and checked: what the application is made of.
 *
 * @param <V> what the application shows of itself
 */
public interface AppPart<V> {
    /** Its switches, links and hosts. */
    Topology topology();

    /** The application as it is to begin, with what is kept of it. */
    App<V> make(AppState kept);

    /** What it shows and lets be changed while it runs; may be called from any thread, as may be what it returns. */
    AppResources resources(Running<V> running);

    /** Orders to be given to it before it begins, of what people chose and is kept; what does not hold any more is forgotten. */
    default List<Event.Order> kept(AppState kept) {
        return List.of();
    }

    /** Returns whether a choice of this kind ({@link Choice#what}) can hold for all controllers of a cluster. */
    default boolean isShared(String what) {
        return true;
    }

    /** Returns the packets by which it commits switches to versions; empty if it has none. */
    default Optional<CommitProtocol> commits() {
        return Optional.empty();
    }

    /** Does, before it begins, what would be slow when it is needed first. */
    default void practise(AppState kept) {
    }

    /** Adds to what a host says when all switches are configured. */
    default void describe(AppState kept, ObjectNode ready) {
    }

    /** What a notice leaves in the log of all that came into force, {@code event} being its kind; empty if it is none for that. */
    default Optional<ObjectNode> history(Command.Notice notice) {
        return Optional.empty();
    }
}
