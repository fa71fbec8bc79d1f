// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.OptionalLong;
import java.util.function.ToIntFunction;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.control.topology.Topology;

/**
 * Application whose tables depend on the status of ports: paths are computed once for all changes of one time.
 *
 * @param <S> state of a switch
 * @param <V> view of the application, immutable
 */
public abstract class PathApp<S extends KeptSwitch, V> extends TableApp<S, V> {
    private final LightChanges light = new LightChanges();
    private long reroutes;

    /** Creates an application; arguments as for {@link App}. */
    protected PathApp(String id, Topology topology, Ownership owns) {
        super(id, topology, owns);
    }

    /** Returns true if paths use a port of a switch. */
    protected abstract boolean leadsBy(S state, int port);

    /** Computes paths over the ports that are up. Returns the function that counts the changed paths of a switch; it is applied once per switch. */
    protected abstract ToIntFunction<S> findPaths();

    /** Words for the paths that {@link #findPaths} counts, such as {@code routes}. */
    protected abstract String paths();

    /** Sets the status of a port whose switch cannot report it. */
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
        ToIntFunction<S> changed = findPaths();
        int different = 0;
        for (S state : states()) {
            int own = changed.applyAsInt(state);
            if (own > 0) {
                state.change();
            }
            different += own;
        }
        if (different > 0) {
            reroutes++;
            send(new Command.Notice(id(), "rerouted", cause + ": " + different + " " + paths() + " changed"));
        }
    }

    /** Returns the current time if paths are due, so that pending events come first. */
    @Override
    public OptionalLong nextDeadlineNs() {
        return light.deadlineNs();
    }

    /** Returns the status of a switch, for the view. */
    protected final SwitchStatus status(S state) {
        return new SwitchStatus(state.isReady(), !light.isPending() && state.isCurrent(), state.dark());
    }

    /** Number of path computations after links went down or up that changed paths. */
    protected final long reroutes() {
        return reroutes;
    }
}
