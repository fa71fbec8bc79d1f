// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.Limits;

/** How nodes that are edges of a slotted star have rates: so many slots of each frame, each worth so much. Immutable. */
public final class SlotRates {
    /** Most slots of a frame. */
    public static final int MAX_SLOTS = 65_535;

    private final int slots;
    private final long slotBps;

    /** Takes the slots of a frame that sessions may have of an edge, and the rate of one slot a frame, b/s. */
    public SlotRates(int slots, long slotBps) {
        this.slots = (int) Ranges.check("slots", slots, 1, MAX_SLOTS);
        this.slotBps = Ranges.check("slot_bps", slotBps, 1, Limits.MAX_RATE_BPS);
        Ranges.check("slots * slot_bps", slots * slotBps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
    }

    /** Slots of a frame for sessions. */
    public int slots() {
        return slots;
    }

    /** Rate of one slot a frame, b/s. */
    public long slotBps() {
        return slotBps;
    }

    /** What an edge can send, or take, b/s. */
    public long nodeBps() {
        return slots * slotBps;
    }
}
