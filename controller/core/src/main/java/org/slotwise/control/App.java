// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.slotwise.control.topology.Topology;

/**
 * One application of a controller as a pure state machine: it reads no clock, opens no socket and starts no thread; one thread
 * at a time may call it. Several run side by side over one session a switch ({@link AppHost}).
 *
 * @param <V> what it shows of itself, immutable
 */
public interface App<V> {
    /** Its name: letters, digits and hyphens. */
    String id();

    /** Its part of the network. Never changes. */
    Topology topology();

    /** The tables that it writes, of which it alone is told. Never changes. */
    Ownership owns();

    /** Names of the applications that it gives orders to ({@link Command.ToApp}), each of which must be there and give none itself. */
    default Set<String> orders() {
        return Set.of();
    }

    /** Why one of {@link #orders} cannot take this application's orders; empty if it can. Asked once, before anything happens. */
    default Optional<String> conflict(App<?> other) {
        return Optional.empty();
    }

    /** Whether a packet-in is for this application. */
    boolean claims(Event.PacketIn packet);

    /** Takes an event that happened at {@code nowNs}, which never goes back, and returns what to do, in order. */
    List<Command> onEvent(long nowNs, Event event);

    /** When {@link Event.DeadlineReached} is wanted if nothing else happens. */
    OptionalLong nextDeadlineNs();

    /** Whether all its switches have had all rules that are there from the beginning, at least once. */
    boolean isConfigured();

    /** What is known now. */
    V view();
}
