// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.List;
import org.slotwise.systems.star.model.EdgeId;

/** One of several overlaid stars at one moment, for showing. Immutable. */
public final class StarSnapshot {
    private final Snapshot state;
    private final List<EdgeId> usableEdges;
    private final long loadSlots;

    StarSnapshot(Snapshot state, List<EdgeId> usableEdges, long loadSlots) {
        this.state = state;
        this.usableEdges = List.copyOf(usableEdges);
        this.loadSlots = loadSlots;
    }

    /** The star's own state; its network is the star, its statistics are those of all stars. */
    public Snapshot state() {
        return state;
    }

    /** Whether traffic may be sent through it: two edges at least are heard. */
    public boolean isLive() {
        return usableEdges.size() > 1;
    }

    /** Edges that traffic is sent from and to through this star. */
    public List<EdgeId> usableEdges() {
        return usableEdges;
    }

    /** Slots a frame that the busiest row or column wants. */
    public long loadSlots() {
        return loadSlots;
    }
}
