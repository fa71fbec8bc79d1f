// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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
public abstract class App<V> {
    private final String id;
    private final Topology topology;
    private final Ownership owns;
    private long nowNs;
    private List<Command> commands = new ArrayList<>();

    /** Takes its name (lower-case letters, digits and hyphens), its part of the network, and the tables that it alone writes. */
    protected App(String id, Topology topology, Ownership owns) {
        this.id = Objects.requireNonNull(id);
        this.topology = Objects.requireNonNull(topology);
        this.owns = Objects.requireNonNull(owns);
    }

    /** Its name. */
    public final String id() {
        return id;
    }

    /** Its part of the network. */
    public final Topology topology() {
        return topology;
    }

    /** The tables that it alone writes; events have no entries of others. */
    public final Ownership owns() {
        return owns;
    }

    /** Names of the applications that it gives orders to ({@link Command.ToApp}), each of which must be there and give none itself. */
    public Set<String> orders() {
        return Set.of();
    }

    /** Returns the reason why one of {@link #orders} cannot take this application's orders; empty if it can. Asked once, before any event. */
    public Optional<String> conflict(App<?> other) {
        return Optional.empty();
    }

    /** Returns true if a packet-in is for this application. By default none is. */
    public boolean claims(Event.PacketIn packet) {
        return false;
    }

    /** Handles an event that happened at {@code now}, which never goes back, and returns what to do, in order. */
    public final List<Command> onEvent(long now, Event event) {
        nowNs = now;
        commands = new ArrayList<>();
        if (event instanceof Event.Call) {
            ((Event.Call) event).on(this);
        } else {
            handle(event);
        }
        finish();
        return commands;
    }

    /** Handles an event that is no {@link Event.Call}. */
    protected abstract void handle(Event event);

    /** Continues after each event and each call, at the same time. */
    protected void finish() {
    }

    /** Adds to what the present event makes the application do. */
    protected final void send(Command command) {
        commands.add(command);
    }

    /** Time of the present event. */
    protected final long nowNs() {
        return nowNs;
    }

    /** Returns when {@link Event.DeadlineReached} is wanted if nothing else happens. By default never. */
    public OptionalLong nextDeadlineNs() {
        return OptionalLong.empty();
    }

    /** Returns true if all its switches have had all rules that are there from the beginning, at least once. */
    public abstract boolean isConfigured();

    /** Returns what is known now. */
    public abstract V view();
}
