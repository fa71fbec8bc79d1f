// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import java.util.Arrays;

/**
 * Decomposes a service matrix into slots: edge colouring of a bipartite multigraph of senders and receivers, with
 * slots as colours. With no line over the number of slots there is always a colouring (König), and this one finds it:
 * a unit takes a slot that is free at both ends, or, if there is none, frees one by swapping two slots along the
 * alternating path (at most two steps an edge).
 *
 * <p>It starts from the schedule before, releases what is no longer granted, and adds what is new, so that the rest
 * stays where it was.
 */
final class EdgeColouring {
    private static final int FREE = FrameSchedule.NONE;

    private final int edges;
    private final int slots;
    private final SlotOrder order;
    /** By slot and sender: the receiver. */
    private final int[][] receiver;
    /** By slot and receiver: the sender. */
    private final int[][] sender;
    /** Free slots by sender and by receiver. */
    private final SlotSet[] freeToSend;
    private final SlotSet[] freeToReceive;
    /** Slots by sender and receiver. */
    private final SlotSet[][] own;

    private EdgeColouring(int edges, int slots, SlotOrder order) {
        this.edges = edges;
        this.slots = slots;
        this.order = order;
        this.receiver = new int[slots][edges];
        this.sender = new int[slots][edges];
        this.freeToSend = new SlotSet[edges];
        this.freeToReceive = new SlotSet[edges];
        this.own = new SlotSet[edges][edges];
        for (int slot = 0; slot < slots; slot++) {
            Arrays.fill(receiver[slot], FREE);
            Arrays.fill(sender[slot], FREE);
        }
        for (int edge = 0; edge < edges; edge++) {
            freeToSend[edge] = SlotSet.all(slots);
            freeToReceive[edge] = SlotSet.all(slots);
            for (int other = 0; other < edges; other++) {
                own[edge][other] = SlotSet.empty(slots);
            }
        }
    }

    /**
     * Returns a schedule that serves {@code service}, close to {@code before}.
     *
     * @throws IllegalArgumentException if a line of {@code service} is over the slots of {@code before}, an entry is
     *     negative, or an edge would send to itself
     */
    static FrameSchedule decompose(int[][] service, FrameSchedule before, SlotOrder order) {
        checkAdmissible(service, before.slots());
        EdgeColouring colouring = new EdgeColouring(service.length, before.slots(), order);
        colouring.keep(before);
        int[][] kept = before.service();
        for (int i = 0; i < service.length; i++) {
            for (int j = 0; j < service.length; j++) {
                for (int extra = kept[i][j] - service[i][j]; extra > 0; extra--) {
                    colouring.release(i, j);
                }
            }
        }
        for (int distance = 1; distance < service.length; distance++) {
            for (int i = 0; i < service.length; i++) {
                int j = (i + distance) % service.length;
                for (int missing = service[i][j] - kept[i][j]; missing > 0; missing--) {
                    colouring.place(i, j);
                }
            }
        }
        return colouring.result();
    }

    private static void checkAdmissible(int[][] service, int slots) {
        long[] columns = new long[service.length];
        for (int i = 0; i < service.length; i++) {
            long row = 0;
            for (int j = 0; j < service.length; j++) {
                if (service[i][j] < 0 || i == j && service[i][j] != 0) {
                    throw new IllegalArgumentException(
                            "service[" + i + "][" + j + "] cannot be " + service[i][j]);
                }
                row += service[i][j];
                columns[j] += service[i][j];
            }
            if (row > slots) {
                throw new IllegalArgumentException("edge " + i + " would send in " + row + " slots of " + slots);
            }
        }
        for (int j = 0; j < service.length; j++) {
            if (columns[j] > slots) {
                throw new IllegalArgumentException(
                        "edge " + j + " would receive in " + columns[j] + " slots of " + slots);
            }
        }
    }

    private void keep(FrameSchedule before) {
        for (int slot = 0; slot < slots; slot++) {
            for (int i = 0; i < edges; i++) {
                if (before.output(slot, i) != FrameSchedule.NONE) {
                    connect(slot, i, before.output(slot, i));
                }
            }
        }
    }

    private void release(int i, int j) {
        disconnect(order.toRelease(own[i][j], slots), i, j);
    }

    private void place(int i, int j) {
        int slot = order.toTake(freeToSend[i], freeToReceive[j], own[i][j], slots);
        if (slot == SlotSet.NONE) {
            slot = freeToSend[i].first();
            swapAlongPath(slot, freeToReceive[j].first(), j);
        }
        connect(slot, i, j);
    }

    /**
     * Frees slot {@code a} at receiver {@code j}, where slot {@code b} is free, by swapping both slots along the path
     * of units that alternate between them. A sender where {@code a} is free is never on that path.
     */
    private void swapAlongPath(int a, int b, int j) {
        int[] senders = new int[2 * edges];
        int[] receivers = new int[2 * edges];
        int length = 0;
        int column = j;
        while (column != FREE) {
            int row = sender[a][column];
            if (row == FREE) {
                break;
            }
            senders[length] = row;
            receivers[length++] = column;
            column = receiver[b][row];
            if (column != FREE) {
                senders[length] = row;
                receivers[length++] = column;
            }
        }
        for (int step = 0; step < length; step++) {
            disconnect(step % 2 == 0 ? a : b, senders[step], receivers[step]);
        }
        for (int step = 0; step < length; step++) {
            connect(step % 2 == 0 ? b : a, senders[step], receivers[step]);
        }
    }

    private void connect(int slot, int i, int j) {
        receiver[slot][i] = j;
        sender[slot][j] = i;
        freeToSend[i].remove(slot);
        freeToReceive[j].remove(slot);
        own[i][j].add(slot);
    }

    private void disconnect(int slot, int i, int j) {
        receiver[slot][i] = FREE;
        sender[slot][j] = FREE;
        freeToSend[i].add(slot);
        freeToReceive[j].add(slot);
        own[i][j].remove(slot);
    }

    private FrameSchedule result() {
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(edges, slots);
        for (int slot = 0; slot < slots; slot++) {
            for (int i = 0; i < edges; i++) {
                if (receiver[slot][i] != FREE) {
                    schedule.connect(slot, i, receiver[slot][i]);
                }
            }
        }
        return schedule.build();
    }
}
