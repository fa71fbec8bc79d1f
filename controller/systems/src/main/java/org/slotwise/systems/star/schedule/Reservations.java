// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;
import java.util.BitSet;

/**
 * Slots that pairs of edges have in every frame, whoever schedules the others: what a scheduler gives is shared anew, max-min fair, within
 * what the reserved slots leave of each edge's frame, and all of it placed without collision, as close to the one in force as may be.
 */
public final class Reservations {
    private final int[][] reserved;
    private final int slots;
    private final int[] sending;
    private final int[] receiving;
    private final Square square;
    private final FairShare rest;
    private final EdgeColouring colouring;

    /**
     * Takes slots a frame by (sender, receiver), for edges with a port of the core each.
     *
     * @throws IllegalArgumentException if the matrix is not square, an edge would send to itself, or send or receive in more slots than a
     *     frame has for data
     */
    public Reservations(int[][] reserved, int slots) {
        int edges = reserved.length;
        this.reserved = Arrays.stream(reserved).map(int[]::clone).toArray(int[][]::new);
        this.slots = slots;
        this.sending = new int[edges];
        this.receiving = new int[edges];
        Arrays.fill(sending, slots);
        Arrays.fill(receiving, slots);
        for (int i = 0; i < edges; i++) {
            if (reserved[i].length != edges) {
                throw new IllegalArgumentException("row " + i + ": expected " + edges + " columns, got " + reserved[i].length);
            }
            for (int j = 0; j < edges; j++) {
                if (reserved[i][j] < 0 || reserved[i][j] > slots || i == j && reserved[i][j] > 0) {
                    throw new IllegalArgumentException("edge " + i + ": invalid reservation of " + reserved[i][j] + " slots to edge " + j);
                }
                sending[i] -= reserved[i][j];
                receiving[j] -= reserved[i][j];
            }
        }
        for (int edge = 0; edge < edges; edge++) {
            if (sending[edge] < 0 || receiving[edge] < 0) {
                throw new IllegalArgumentException("edge " + edge + ": expected at most " + slots + " slots, got " + (slots - sending[edge]) + " to send and "
                        + (slots - receiving[edge]) + " to receive");
            }
        }
        this.square = new Square(edges);
        this.rest = new FairShare(edges, slots, FairShare.Share.EQUAL, PairWeights.ALIKE.forEdges(edges), false);
        this.colouring = new EdgeColouring(edges, slots, SlotOrder.SPREAD);
    }

    /** Edges. */
    public int edges() {
        return reserved.length;
    }

    /** Slots of a frame. */
    public int slots() {
        return slots;
    }

    /** The same without what is reserved to or from these edges. */
    public Reservations without(BitSet edges) {
        int[][] rest = new int[reserved.length][];
        for (int i = 0; i < rest.length; i++) {
            rest[i] = edges.get(i) ? new int[rest.length] : reserved[i].clone();
            for (int j = edges.nextSetBit(0); j >= 0; j = edges.nextSetBit(j + 1)) {
                rest[i][j] = 0;
            }
        }
        return new Reservations(rest, slots);
    }

    /** What a scheduler is told that pairs want: no less than what is reserved for them, which is theirs whether they want it or not. */
    public void raise(int[][] demandSlots) {
        for (int i = 0; i < reserved.length; i++) {
            for (int j = 0; j < reserved.length; j++) {
                demandSlots[i][j] = Math.max(demandSlots[i][j], reserved[i][j]);
            }
        }
    }

    /** A scheduler's schedule, of as many edges and slots, with all that is reserved; {@code current} is in force. */
    public FrameSchedule applyTo(FrameSchedule schedule, FrameSchedule current) {
        int[][] beyond = schedule.service();
        boolean has = true;
        for (int i = 0; i < reserved.length; i++) {
            for (int j = 0; j < reserved.length; j++) {
                has &= beyond[i][j] >= reserved[i][j];
                beyond[i][j] = Math.max(0, beyond[i][j] - reserved[i][j]);
            }
        }
        if (has) {
            return schedule;
        }
        int[] service = rest.allocate(beyond, sending, receiving);
        for (int i = 0; i < reserved.length; i++) {
            for (int j = 0; j < reserved.length; j++) {
                service[square.entry(i, j)] += reserved[i][j];
            }
        }
        return colouring.decompose(service, current);
    }
}
