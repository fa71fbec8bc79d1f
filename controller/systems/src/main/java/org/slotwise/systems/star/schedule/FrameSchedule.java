// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * Which edge sends to which in each data slot of a frame. Immutable; in every slot an edge sends to at most one
 * other edge and receives from at most one, which is all that a bufferless core can do.
 *
 * <p>Edges are matrix indexes, slots are numbered from 0 at the first data slot.
 */
public final class FrameSchedule {
    /** An edge that sends nothing in a slot. */
    public static final int NONE = -1;
    /** Largest number of edges. */
    public static final int MAX_EDGES = Short.MAX_VALUE;

    private final int edges;
    private final int slots;
    /** By slot, then sender: flat and short, for the largest frames are four million of them. */
    private final short[] outputs;

    private FrameSchedule(int edges, int slots, short[] outputs) {
        this.edges = edges;
        this.slots = slots;
        this.outputs = outputs;
    }

    /** A schedule without any connection. */
    public static FrameSchedule empty(int edges, int slots) {
        return new Builder(edges, slots).build();
    }

    /** Takes receivers by slot, then sender, which the caller has found free of collisions and will not change. */
    static FrameSchedule of(int edges, int slots, short[] outputs) {
        return new FrameSchedule(edges, slots, outputs);
    }

    /** Collects connections; refuses those that would collide. */
    public static final class Builder {
        private final int edges;
        private final int slots;
        private final short[] outputs;
        private final boolean[] taken;

        /** Starts with no connection; throws IllegalArgumentException above MAX_EDGES. */
        public Builder(int edges, int slots) {
            if (edges > MAX_EDGES) {
                throw new IllegalArgumentException("expected at most " + MAX_EDGES + " edges, got " + edges);
            }
            this.edges = edges;
            this.slots = slots;
            this.outputs = new short[slots * edges];
            this.taken = new boolean[slots * edges];
            Arrays.fill(outputs, (short) NONE);
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
            int first = slot * edges;
            if (input == output || outputs[first + input] != NONE || taken[first + output]) {
                return false;
            }
            outputs[first + input] = (short) output;
            taken[first + output] = true;
            return true;
        }

        /** Whether {@code input} sends nothing yet in {@code slot}. */
        boolean isFreeToSend(int slot, int input) {
            return outputs[slot * edges + input] == NONE;
        }

        /** Connects who is free in the same slot, beginning as the fixed rotation does. */
        void fillByRotation() {
            for (int slot = 0; slot < slots; slot++) {
                int distance = edges < 2 ? 0 : 1 + slot % (edges - 1);
                for (int input = 0; input < edges; input++) {
                    for (int k = 0; k < edges && isFreeToSend(slot, input); k++) {
                        connectIfFree(slot, input, (input + distance + k) % edges);
                    }
                }
            }
        }

        /** The schedule. */
        public FrameSchedule build() {
            return new FrameSchedule(edges, slots, outputs.clone());
        }
    }

    /** Data slots of a frame. */
    public int slots() {
        return slots;
    }

    /** Edges of the network. */
    public int edges() {
        return edges;
    }

    /** The edge that {@code input} sends to in {@code slot}, or {@link #NONE}. */
    public int output(int slot, int input) {
        return outputs[slot * edges + input];
    }

    /** Copies the receivers of one slot, by sender, to {@code target} from {@code offset} on. */
    void copySlot(int slot, short[] target, int offset) {
        System.arraycopy(outputs, slot * edges, target, offset, edges);
    }

    /** Receivers by slot, then sender, to be changed by the caller. */
    short[] copyOfOutputs() {
        return outputs.clone();
    }

    /** Slots of a frame by (sender, receiver). */
    public int[][] service() {
        int[][] service = new int[edges][edges];
        for (int slot = 0; slot < slots; slot++) {
            for (int input = 0; input < edges; input++) {
                int output = output(slot, input);
                if (output != NONE) {
                    service[input][output]++;
                }
            }
        }
        return service;
    }

    /** The same schedule less the connections from and to the edges {@code out}. */
    public FrameSchedule without(IntPredicate out) {
        short[] rest = outputs.clone();
        for (int place = 0; place < rest.length; place++) {
            if (rest[place] != NONE && (out.test(place % edges) || out.test(rest[place]))) {
                rest[place] = NONE;
            }
        }
        return new FrameSchedule(edges, slots, rest);
    }

    /** Senders, over all slots, that send to another edge than in {@code other}, which has the same size, or to none. */
    public int differences(FrameSchedule other) {
        int different = 0;
        for (int place = 0; place < outputs.length; place++) {
            different += outputs[place] == other.outputs[place] ? 0 : 1;
        }
        return different;
    }

    /** Connections that the core has to set up anew between a slot and the one before, over a frame that repeats. */
    public int reconfigurations() {
        int changes = 0;
        for (int slot = 0; slot < slots; slot++) {
            int before = slot == 0 ? slots - 1 : slot - 1;
            for (int input = 0; input < edges; input++) {
                int output = output(slot, input);
                changes += output != NONE && output != output(before, input) ? 1 : 0;
            }
        }
        return changes;
    }

    @Override
    public boolean equals(Object o) {
        if (!(o instanceof FrameSchedule)) {
            return false;
        }
        FrameSchedule other = (FrameSchedule) o;
        return this == other
                || edges == other.edges && slots == other.slots && Arrays.equals(outputs, other.outputs);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(outputs);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int slot = 0; slot < slots; slot++) {
            text.append(slot == 0 ? "[" : ", ")
                    .append(Arrays.toString(Arrays.copyOfRange(outputs, slot * edges, (slot + 1) * edges)));
        }
        return text.append(']').toString();
    }
}
