// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.shared.model;

import java.util.Arrays;
import org.slotwise.control.Event;

/**
 * Pairs of edges are to have slots in every frame from the next schedule on, whoever schedules the rest; whoever asked for others before
 * has these now.
 */
public final class SlotsReserved extends Event.Order {
    private final int[][] slots;

    /** Takes slots a frame by (sender, receiver), edges in the order of their numbers. */
    public SlotsReserved(int[][] slots) {
        this.slots = copy(slots);
    }

    private static int[][] copy(int[][] slots) {
        return Arrays.stream(slots).map(int[]::clone).toArray(int[][]::new);
    }

    /** Slots a frame by (sender, receiver). */
    public int[][] slots() {
        return copy(slots);
    }
}
