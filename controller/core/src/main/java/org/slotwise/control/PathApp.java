// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.OptionalLong;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.control.topology.Topology;

/**
 * Application whose tables follow the light of the switches' ports: paths are found once for all that happened at one time.
 *
 * @param <S> a switch, and what the application knows of it
 * @param <V> what it shows of itself
 */
public abstract class PathApp<S extends KeptSwitch, V> extends TableApp<S, V> {
    private final LightChanges light = new LightChanges();
    private long reroutes;

    /** Takes what an {@link App} has. */
    protected PathApp(String id, Topology topology, Ownership owns) {
        super(id, topology, owns);
    }

    /** Returns true if paths lead by a port of a switch. */
    protected abstract boolean leadsBy(S state, int port);

    /** Finds paths by the light that there is now, calls {@link KeptSwitch#change} where they are others, and returns how many are. */
    protected abstract int findPaths();

    /** Words for what {@link #findPaths} counts, such as {@code routes}. */
    protected abstract String paths();

    /** Sets the status of a port as somebody reports it whose switch cannot. */
    public final void reportPort(SwitchPort port, boolean isUp) {
        state(port.device()).ifPresent(state -> onPort(state, port.port(), isUp));
    }

    @Override
    protected void handle(Event event) {
        if (event instanceof Event.DeadlineReached) {
            light.take().ifPresent(this::reroute);
        } else {
            super.handle(event);
        }
    }

    @Override
    protected void onDeviceEvent(S state, Event.AtDevice event) {
        if (event instanceof Event.PortChanged) {
            Event.PortChanged change = (Event.PortChanged) event;
            onPort(state, change.port(), change.isUp());
        }
    }

    private void onPort(S state, int port, boolean isUp) {
        if (leadsBy(state, port)) {
            light.note(nowNs(), state.dark(), state.id(), port, isUp);
        }
    }

    private void reroute(String cause) {
        int different = findPaths();
        if (different > 0) {
            reroutes++;
            send(new Command.Notice(id(), "rerouted", cause + ": " + different + " " + paths() + " changed"));
        }
    }

    /** At once, after what has happened already. */
    @Override
    public OptionalLong nextDeadlineNs() {
        return light.deadlineNs();
    }

    /** Returns the status of a switch, for the view. */
    protected final SwitchStatus status(S state) {
        return new SwitchStatus(state.isReady(), !light.isPending() && state.isCurrent(), state.dark());
    }

    /** How often paths have changed since fibres or links were lost or came back. */
    protected final long reroutes() {
        return reroutes;
    }
}
