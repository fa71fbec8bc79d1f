// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import java.util.Objects;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.wire.Limits;

/** How time is cut: slots of a frame, length of a slot, the guard at its start; whether slots are for signaling, and how often edges ask. */
public final class FramePlan {
    /** Rarest requests: one every so many frames. */
    public static final int MAX_REQUEST_INTERVAL_FRAMES = 64;

    private final int slots;
    private final long slotNs;
    private final long guardNs;
    private final Signaling signaling;
    private final int requestIntervalFrames;

    /** In-band; throws as the last constructor. */
    public FramePlan(int slots, long slotNs, long guardNs) {
        this(slots, slotNs, guardNs, Signaling.IN_BAND);
    }

    /** With requests in every frame; throws as the last constructor. */
    public FramePlan(int slots, long slotNs, long guardNs, Signaling signaling) {
        this(slots, slotNs, guardNs, signaling, 1);
    }

    /**
     * Throws {@link InvalidNetworkException} unless slots and their length are within {@link Limits}, the guard is shorter than the slot, and the
     * interval is a power of two up to MAX_REQUEST_INTERVAL_FRAMES, 1 out of band.
     */
    public FramePlan(int slots, long slotNs, long guardNs, Signaling signaling, int requestIntervalFrames) {
        if (slots < Limits.MIN_SLOTS || slots > Limits.MAX_SLOTS) {
            throw new InvalidNetworkException("frame.slots",
                    "expected " + Limits.MIN_SLOTS + " .. " + Limits.MAX_SLOTS + ", got " + slots);
        }
        if (slotNs < Limits.MIN_SLOT_NS || slotNs > Limits.MAX_SLOT_NS) {
            throw new InvalidNetworkException("frame.slot_ns",
                    "expected " + Limits.MIN_SLOT_NS + " .. " + Limits.MAX_SLOT_NS + ", got " + slotNs);
        }
        if (guardNs < 0 || guardNs >= slotNs) {
            throw new InvalidNetworkException("frame.guard_ns",
                    "expected 0 .. slot_ns - 1 = " + (slotNs - 1) + ", got " + guardNs);
        }
        this.slots = slots;
        this.slotNs = slotNs;
        this.guardNs = guardNs;
        this.signaling = Objects.requireNonNull(signaling);
        if (Integer.bitCount(requestIntervalFrames) != 1 || requestIntervalFrames < 1
                || requestIntervalFrames > MAX_REQUEST_INTERVAL_FRAMES) {
            throw new InvalidNetworkException("frame.request_interval_frames", "expected a power of two 1 .. "
                    + MAX_REQUEST_INTERVAL_FRAMES + ", got " + requestIntervalFrames);
        }
        if (requestIntervalFrames > 1 && signaling == Signaling.OUT_OF_BAND) {
            throw new InvalidNetworkException("frame.request_interval_frames",
                    "expected 1 with out-of-band signaling, got " + requestIntervalFrames);
        }
        this.requestIntervalFrames = requestIntervalFrames;
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

    /** Edges ask in every frame whose number this power of two divides. */
    public int requestIntervalFrames() {
        return requestIntervalFrames;
    }

    /** Length of a frame. */
    public long frameNs() {
        return slots * slotNs;
    }
}
