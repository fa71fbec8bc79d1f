// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import org.slotwise.control.Command;

/** Links were lost or came back, and ways around a ring are others now. */
public final class WaysChanged extends Command.Notice {
    private final String cause;
    private final int paths;

    WaysChanged(String cause, int paths) {
        super(FairnessApp.ID, "rerouted");
        this.cause = cause;
        this.paths = paths;
    }

    /** Paths that changed, came or went, over all stations. */
    public int paths() {
        return paths;
    }

    @Override
    public String toString() {
        return cause + ": " + paths + " ring paths changed";
    }
}
