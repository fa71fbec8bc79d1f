// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Topology;

/**
 * Application that keeps switches' tables as they ought to be: what has changed is written to each switch in one batch as soon as that has
 * answered the one before, and a switch that has rejected a batch is read again.
 *
 * @param <S> a switch, and what the application knows of it
 * @param <V> what it shows of itself
 */
public abstract class TableApp<S extends KeptSwitch, V> extends App<V> {
    private final Map<DeviceId, S> states = new LinkedHashMap<>();
    private long lastBatch;
    private long writeFailures;

    /** Takes what an {@link App} has; switches are {@link #add added}. */
    protected TableApp(String id, Topology topology, Ownership owns) {
        super(id, topology, owns);
    }

    /** Takes a switch, which is not there yet; all its ports have light. */
    protected final void add(S state) {
        states.put(state.id(), state);
    }

    /** The switches, in the order in which they were added. */
    protected final Collection<S> states() {
        return Collections.unmodifiableCollection(states.values());
    }

    /** A switch of this network; empty: there is none with this number, or whoever asks has seen the network before this one. */
    protected final Optional<S> state(DeviceId device) {
        return Optional.ofNullable(states.get(device));
    }

    /** Returns what brings a switch's tables to what they ought to be; empty: nothing is written. Called after {@link KeptSwitch#change}. */
    protected abstract List<Update> changes(S state);

    /** Handles what happened at a switch, beyond its tables. */
    protected void onDeviceEvent(S state, Event.AtDevice event) {
    }

    @Override
    protected void handle(Event event) {
        if (event instanceof Event.AtDevice) {
            DeviceId device = ((Event.AtDevice) event).device();
            S state = state(device).orElseThrow(() -> new IllegalArgumentException("device " + device + " is not in this network"));
            onDeviceEvent(state, (Event.AtDevice) event);
            if (state.hear((Event.AtDevice) event)) {
                writeFailures++;
                send(new Command.ReadTables(device));
            }
        }
    }

    @Override
    protected final void finish() {
        for (S state : states.values()) {
            List<Update> updates = state.takeChange() ? changes(state) : List.of();
            if (!updates.isEmpty()) {
                send(state.startWrite(++lastBatch, updates));
            }
        }
    }

    @Override
    public final boolean isConfigured() {
        return states.values().stream().allMatch(KeptSwitch::isConfigured);
    }

    /** Batches that a switch rejected. */
    protected final long writeFailures() {
        return writeFailures;
    }
}
