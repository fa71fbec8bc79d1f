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
 * @param <V> view of the application, immutable
 */
public abstract class App<V> {
    private final String id;
    private final Topology topology;
    private final Ownership owns;
    private long nowNs;
    private List<Command> commands = new ArrayList<>();

    /** Creates an application with a name (lower-case letters, digits and hyphens), its part of the network, and the tables that only it writes. */
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

    /** Tables that only this application writes; events have no entries of other tables. */
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

    /** Returns true if a packet-in is for this application. Default: false. */
    public boolean claims(Event.PacketIn packet) {
        return false;
    }

    /** Handles an event of time {@code now}, which never decreases, and returns commands in order. */
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

    /** Handles an event other than {@link Event.Call}. */
    protected abstract void handle(Event event);

    /** Continues after each event and each call, at the same time. */
    protected void finish() {
    }

    /** Appends a command to those of the current event. */
    protected final void send(Command command) {
        commands.add(command);
    }

    /** Time of the current event. */
    protected final long nowNs() {
        return nowNs;
    }

    /** Returns the time of the next {@link Event.DeadlineReached} if no event comes before. Default: never. */
    public OptionalLong nextDeadlineNs() {
        return OptionalLong.empty();
    }

    /** Returns true once all switches of the application have had all their initial entries. */
    public abstract boolean isConfigured();

    /** Returns the present view. */
    public abstract V view();
}
