// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import org.slotwise.control.Command;

/** Links were lost or came back, and routes are others now. */
public final class Rerouted extends Command.Notice {
    private final String cause;
    private final int routes;

    Rerouted(String cause, int routes) {
        super(RoutesApp.ID, "rerouted");
        this.cause = cause;
        this.routes = routes;
    }

    /** Routes that changed, came or went, over all routers. */
    public int routes() {
        return routes;
    }

    @Override
    public String toString() {
        return cause + ": " + routes + " routes changed";
    }
}
