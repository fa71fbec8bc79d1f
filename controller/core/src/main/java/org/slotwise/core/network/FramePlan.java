// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.network;

import java.util.Objects;

/** How time is cut: slots of a frame, length of a slot, the guard at its start, and whether slots are for signaling. */
public final class FramePlan {
    /** Largest number of slots in a frame. */
    public static final int MAX_SLOTS = 4096;
    /** Longest slot: one second. */
    public static final long MAX_SLOT_NS = 1_000_000_000L;

    private final int slots;
    private final long slotNs;
    private final long guardNs;
    private final Signaling signaling;

    /** In-band; throws as the other constructor. */
    public FramePlan(int slots, long slotNs, long guardNs) {
        this(slots, slotNs, guardNs, Signaling.IN_BAND);
    }

    /** Throws {@link InvalidNetworkException} unless 1 <= slots <= MAX_SLOTS and 0 <= guard < slot <= MAX_SLOT_NS. */
    public FramePlan(int slots, long slotNs, long guardNs, Signaling signaling) {
        if (slots < 1 || slots > MAX_SLOTS) {
            throw new InvalidNetworkException("frame.slots", "must be 1 .. " + MAX_SLOTS + ", got " + slots);
        }
        if (slotNs < 1 || slotNs > MAX_SLOT_NS) {
            throw new InvalidNetworkException("frame.slot_ns", "must be 1 .. " + MAX_SLOT_NS + ", got " + slotNs);
        }
        if (guardNs < 0 || guardNs >= slotNs) {
            throw new InvalidNetworkException("frame.guard_ns",
                    "must be 0 .. slot_ns - 1 = " + (slotNs - 1) + ", got " + guardNs);
        }
        this.slots = slots;
        this.slotNs = slotNs;
        this.guardNs = guardNs;
        this.signaling = Objects.requireNonNull(signaling);
    }

    /** Slots of a frame. */
    public int slots() {
        return slots;
    }

    /** Length of a slot. */
    public long slotNs() {
        return slotNs;
    }

    /** Guard at the start of each slot. */
    public long guardNs() {
        return guardNs;
    }

    /** How requests and beacons travel. */
    public Signaling signaling() {
        return signaling;
    }

    /** Length of a frame. */
    public long frameNs() {
        return slots * slotNs;
    }
}
