// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import org.slotwise.control.Command;

/** Fibres were lost or came back, and switches have other next fibres to edges now. */
public final class RanksChanged extends Command.Notice {
    private final String cause;
    private final int routes;

    RanksChanged(String cause, int routes) {
        super(LabelApp.ID, "rerouted");
        this.cause = cause;
        this.routes = routes;
    }

    /** Routes, each of a switch to an edge, that changed, came or went. */
    public int routes() {
        return routes;
    }

    @Override
    public String toString() {
        return cause + ": " + routes + " label routes changed";
    }
}
