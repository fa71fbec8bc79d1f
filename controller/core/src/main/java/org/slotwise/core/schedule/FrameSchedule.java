// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import java.util.Arrays;

/**
 * Which edge sends to which in each data slot of a frame. Immutable; in every slot an edge sends to at most one
 * other edge and receives from at most one, which is all that a bufferless core can do.
 *
 * <p>Edges are matrix indexes, slots are numbered from 0 at the first data slot.
 */
public final class FrameSchedule {
    /** An edge that sends nothing in a slot. */
    public static final int NONE = -1;

    private final int[][] outputs;
    private final int edges;

    private FrameSchedule(int[][] outputs, int edges) {
        this.outputs = outputs;
        this.edges = edges;
    }

    /** A schedule without any connection. */
    public static FrameSchedule empty(int edges, int slots) {
        return new Builder(edges, slots).build();
    }

    /** Collects connections; refuses those that would collide. */
    public static final class Builder {
        private final int[][] outputs;
        private final boolean[][] taken;
        private final int edges;

        /** Starts with no connection. */
        public Builder(int edges, int slots) {
            this.outputs = new int[slots][edges];
            this.taken = new boolean[slots][edges];
            this.edges = edges;
            for (int[] slot : outputs) {
                Arrays.fill(slot, NONE);
            }
        }

        /** Connects two edges in a slot; throws IllegalArgumentException if one is busy or both are the same. */
        public Builder connect(int slot, int input, int output) {
            if (!connectIfFree(slot, input, output)) {
                throw new IllegalArgumentException(
                        "slot " + slot + ": edge " + input + " cannot send to edge " + output);
            }
            return this;
        }

        /** Connects two edges in a slot, or returns false if one is busy or both are the same. */
        public boolean connectIfFree(int slot, int input, int output) {
            if (input == output || outputs[slot][input] != NONE || taken[slot][output]) {
                return false;
            }
            outputs[slot][input] = output;
            taken[slot][output] = true;
            return true;
        }

        /** The schedule. */
        public FrameSchedule build() {
            int[][] copy = new int[outputs.length][];
            for (int slot = 0; slot < copy.length; slot++) {
                copy[slot] = outputs[slot].clone();
            }
            return new FrameSchedule(copy, edges);
        }
    }

    /** Data slots of a frame. */
    public int slots() {
        return outputs.length;
    }

    /** Edges of the network. */
    public int edges() {
        return edges;
    }

    /** The edge that {@code input} sends to in {@code slot}, or {@link #NONE}. */
    public int output(int slot, int input) {
        return outputs[slot][input];
    }

    /** Slots of a frame by (sender, receiver). */
    public int[][] service() {
        int[][] service = new int[edges][edges];
        for (int[] slot : outputs) {
            for (int input = 0; input < edges; input++) {
                if (slot[input] != NONE) {
                    service[input][slot[input]]++;
                }
            }
        }
        return service;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof FrameSchedule && Arrays.deepEquals(outputs, ((FrameSchedule) o).outputs);
    }

    @Override
    public int hashCode() {
        return Arrays.deepHashCode(outputs);
    }

    @Override
    public String toString() {
        return Arrays.deepToString(outputs);
    }
}
