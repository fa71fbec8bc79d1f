// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ring;

import org.slotwise.control.Command;

/** Links were lost or came back, and ways around a ring are others now. */
public final class WaysChanged extends Command.Notice {
    private final String cause;
    private final int ways;

    WaysChanged(String cause, int ways) {
        super(FairnessApp.ID, "rerouted");
        this.cause = cause;
        this.ways = ways;
    }

    /** Ways that changed, came or went, over all stations. */
    public int ways() {
        return ways;
    }

    @Override
    public String toString() {
        return cause + ": " + ways + " ways around the ring changed";
    }
}
