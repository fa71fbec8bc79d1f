// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/**
 * The frame of an application that keeps switches' tables as the light of their ports wants them: ways are found once for all that happened
 * at one time, what has changed is written to each switch in one batch as soon as that has answered the one before, and a switch that has
 * refused a batch is read again. Its switches send it no packets.
 *
 * @param <S> a switch, and what the application knows of it
 * @param <V> what it shows of itself
 */
public abstract class WaysApp<S extends KeptSwitch, V> implements App<V> {
    private final Map<DeviceId, S> states = new LinkedHashMap<>();
    private final LightChanges light = new LightChanges();
    private long lastBatch;
    private long reroutes;
    private long writeFailures;
    private List<Command> commands = new ArrayList<>();

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

    /** Whether ways lead by a port of a switch. */
    protected abstract boolean leadsBy(S state, int port);

    /** Finds ways by the light that there is now, calls {@link KeptSwitch#change} where they are others, and returns how many are. */
    protected abstract int findWays();

    /** What is told when ways have changed: why, in words, and how many. */
    protected abstract Command told(String cause, int different);

    /** Somebody wants something of this application alone. */
    protected abstract void onOrder(Event event);

    /** What brings a switch's tables to what they ought to be; empty: nothing is written. */
    protected abstract List<Update> changes(S state);

    @Override
    public final boolean claims(Event.PacketIn packet) {
        return false;
    }

    @Override
    public final List<Command> onEvent(long nowNs, Event event) {
        commands = new ArrayList<>();
        if (event instanceof Event.AtDevice) {
            DeviceId device = ((Event.AtDevice) event).device();
            onDeviceEvent(nowNs, state(device).orElseThrow(() -> new IllegalArgumentException("device " + device + " is not in this network")),
                    (Event.AtDevice) event);
        } else if (event instanceof Event.DeadlineReached) {
            light.take().ifPresent(this::reroute);
        } else if (event instanceof LightTold) {
            LightTold told = (LightTold) event;
            state(told.device()).ifPresent(state -> onPort(nowNs, state, told.port(), told.isUp()));
        } else {
            onOrder(event);
        }
        states.values().forEach(this::write);
        return commands;
    }

    private void onDeviceEvent(long nowNs, S state, Event.AtDevice event) {
        if (state.hear(event)) {
            writeFailures++;
            commands.add(new Command.ReadTables(state.id()));
        } else if (event instanceof Event.PortChanged) {
            Event.PortChanged change = (Event.PortChanged) event;
            onPort(nowNs, state, change.port(), change.isUp());
        }
    }

    private void onPort(long nowNs, S state, int port, boolean isUp) {
        if (leadsBy(state, port)) {
            light.note(nowNs, state.dark(), state.id(), port, isUp);
        }
    }

    private void reroute(String cause) {
        int different = findWays();
        if (different > 0) {
            reroutes++;
            commands.add(told(cause, different));
        }
    }

    private void write(S state) {
        if (state.takeChange()) {
            List<Update> updates = changes(state);
            if (!updates.isEmpty()) {
                commands.add(state.startWrite(++lastBatch, updates));
            }
        }
    }

    /** At once, after what has happened already. */
    @Override
    public final OptionalLong nextDeadlineNs() {
        return light.deadlineNs();
    }

    @Override
    public final boolean isConfigured() {
        return states.values().stream().allMatch(KeptSwitch::isConfigured);
    }

    /** Whether a switch's tables are as the light wants them. */
    protected final boolean isSettled(S state) {
        return !light.isPending() && state.isCurrent();
    }

    /** How often ways have changed since fibres or links were lost or came back. */
    protected final long reroutes() {
        return reroutes;
    }

    /** Batches that a switch refused. */
    protected final long writeFailures() {
        return writeFailures;
    }
}
