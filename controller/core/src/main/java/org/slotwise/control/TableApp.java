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
 * Application that maintains the tables of switches: changes are written to each switch in one batch once the previous batch is
 * acknowledged, and a switch that rejected a batch is read again.
 *
 * @param <S> state of a switch
 * @param <V> view of the application, immutable
 */
public abstract class TableApp<S extends KeptSwitch, V> extends App<V> {
    private final Map<DeviceId, S> states = new LinkedHashMap<>();
    private long lastBatch;
    private long writeFailures;

    /** Creates an application without switches, which are {@link #add added}; arguments as for {@link App}. */
    protected TableApp(String id, Topology topology, Ownership owns) {
        super(id, topology, owns);
    }

    /** Adds a switch, which is not connected yet; all its ports are up. */
    protected final void add(S state) {
        states.put(state.id(), state);
    }

    /** Switches in the order of their addition. */
    protected final Collection<S> states() {
        return Collections.unmodifiableCollection(states.values());
    }

    /** Returns a switch of this network; empty for an unknown number, for example one of the previous network. */
    protected final Optional<S> state(DeviceId device) {
        return Optional.ofNullable(states.get(device));
    }

    /** Returns the updates that a switch's tables need; empty if they are up to date. Called after {@link KeptSwitch#change}. */
    protected abstract List<Update> changes(S state);

    /** Handles an event of a switch, beyond its tables. */
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
            if (state.takeChange()) {
                List<Update> updates = changes(state);
                if (updates.isEmpty()) {
                    state.confirm();
                } else {
                    send(state.startWrite(++lastBatch, updates));
                }
            }
        }
    }

    @Override
    public final boolean isConfigured() {
        return states.values().stream().allMatch(KeptSwitch::isConfigured);
    }

    /** Number of batches rejected by switches. */
    protected final long writeFailures() {
        return writeFailures;
    }
}
