// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import java.util.Arrays;

/**
 * Decomposes a service matrix into slots: edge colouring of a bipartite multigraph of senders and receivers, with
 * slots as colours. With no line over the number of slots there is always a colouring (König), and this one finds it:
 * a pair takes the lowest colours that are free at both ends, whole words of a bit mask at once; for what is left one is
 * freed by swapping two colours along the alternating path (at most two steps an edge).
 *
 * <p>It is warm: it starts from the schedule before, and only what must change does. Slots that nobody asked for are
 * filled with spare connections, and each stays until its slot is needed, or becomes firm where its pair wants more.
 */
final class EdgeColouring {
    private final int edges;
    private final Square square;
    private final PairsByDistance pairs;
    private final int slots;
    private final ColourTable table;
    private final int[] rowSum;
    private final int[] columnSum;
    /** Slots by {@link PairsByDistance}. */
    private final int[] wanted;
    private final PairsOfRows listed;
    /** Of the receivers listed of a row: how many of its connections are to change. */
    private final int[] more;
    /** Spare connections that a pair may have by its sender's room, and by its receiver's. */
    private final int[] rowSpare;
    private final int[] columnSpare;
    private final int edgeWords;
    private final long[] idleSenders;
    private final long[] idleReceivers;
    private FrameSchedule last;

    /** For frames of {@code slots} slots between {@code edges} edges. */
    EdgeColouring(int edges, int slots, SlotOrder order) {
        this.edges = edges;
        this.square = new Square(edges);
        this.pairs = new PairsByDistance(edges);
        this.slots = slots;
        this.table = new ColourTable(edges, slots, order);
        this.rowSum = new int[edges];
        this.columnSum = new int[edges];
        this.wanted = new int[pairs.length()];
        this.listed = new PairsOfRows(edges);
        this.more = new int[edges];
        this.rowSpare = new int[edges];
        this.columnSpare = new int[edges];
        this.edgeWords = (edges + Long.SIZE - 1) / Long.SIZE;
        this.idleSenders = new long[Long.SIZE * edgeWords];
        this.idleReceivers = new long[Long.SIZE * edgeWords];
    }

    /**
     * Returns a schedule that serves {@code service} and something more where slots are left, close to {@code before}.
     *
     * @param service slots by sender and receiver, as {@link Square} places them
     * @throws IllegalArgumentException if a line of {@code service} is over the slots of a frame, an entry is
     *     negative, or an edge would send to itself
     */
    FrameSchedule decompose(int[] service, FrameSchedule before) {
        checkAdmissible(service);
        if (!before.equals(last)) {
            table.load(before);
        }
        last = null;
        pairs.copy(service, square, wanted);
        turnFirmAndSpare();
        place();
        trimSpare();
        fillSpare();
        last = table.toSchedule(before);
        return last;
    }

    private void checkAdmissible(int[] service) {
        Arrays.fill(rowSum, 0);
        Arrays.fill(columnSum, 0);
        for (int i = 0; i < edges; i++) {
            int row = square.entry(i, 0);
            int outside = service[row + i];
            for (int j = 0; j < edges; j++) {
                int wanted = service[row + j];
                outside |= wanted | slots - wanted;
                rowSum[i] += wanted;
                columnSum[j] += wanted;
            }
            if (outside < 0 || service[row + i] != 0) {
                throw notPossible(service, i);
            }
        }
        for (int edge = 0; edge < edges; edge++) {
            if (rowSum[edge] > slots || columnSum[edge] > slots) {
                throw new IllegalArgumentException("edge " + edge + " would send in " + rowSum[edge]
                        + " and receive in " + columnSum[edge] + " slots of " + slots);
            }
            rowSpare[edge] = 1 + (slots - rowSum[edge] + edges - 2) / (edges - 1);
            columnSpare[edge] = 1 + (slots - columnSum[edge] + edges - 2) / (edges - 1);
        }
    }

    private IllegalArgumentException notPossible(int[] service, int i) {
        int j = 0;
        while (i == j ? service[square.entry(i, j)] == 0
                : service[square.entry(i, j)] >= 0 && service[square.entry(i, j)] <= slots) {
            j++;
        }
        return new IllegalArgumentException("service[" + i + "][" + j + "] cannot be " + service[square.entry(i, j)]);
    }

    /** No pair keeps all that another once needed: each may have its part of the room and one more. */
    private int spareLimit(int i, int j) {
        return Math.min(rowSpare[i], columnSpare[j]);
    }

    /** Makes spare connections firm where a pair wants more, and firm ones spare where it wants less. */
    private void turnFirmAndSpare() {
        int[] firm = table.firm();
        int[] spare = table.spare();
        listed.clear();
        for (int distance = 1; distance < edges; distance++) {
            int first = pairs.first(distance);
            for (int i = 0; i < edges; i++) {
                int difference = wanted[first + i] - firm[first + i];
                if (difference < 0 || difference > 0 && spare[first + i] > 0) {
                    listed.add(i, pairs.receiver(distance, i), Math.min(difference, spare[first + i]));
                }
            }
        }
        for (int i = 0; i < edges; i++) {
            int left = listed.take(i, more);
            for (int colour = slots - 1; left > 0; colour--) {
                int j = table.receiver(colour, i);
                if (j == ColourTable.NONE || more[j] == 0) {
                    continue;
                }
                boolean firmly = table.isFirm(colour, i);
                if (firmly && more[j] < 0) {
                    table.makeSpare(colour, i, j);
                    more[j]++;
                    left--;
                } else if (!firmly && more[j] > 0) {
                    table.makeFirm(colour, i, j);
                    more[j]--;
                    left--;
                }
            }
        }
    }

    private void trimSpare() {
        int[] spare = table.spare();
        listed.clear();
        for (int distance = 1; distance < edges; distance++) {
            int first = pairs.first(distance);
            for (int i = 0; i < edges; i++) {
                int beyond = spare[first + i] - rowSpare[i];
                if (spare[first + i] > 0) {
                    beyond = Math.max(beyond, spare[first + i] - columnSpare[pairs.receiver(distance, i)]);
                    if (beyond > 0) {
                        listed.add(i, pairs.receiver(distance, i), beyond);
                    }
                }
            }
        }
        for (int i = 0; i < edges; i++) {
            int left = listed.take(i, more);
            for (int colour = slots - 1; left > 0; colour--) {
                int j = table.receiver(colour, i);
                if (j != ColourTable.NONE && more[j] > 0 && !table.isFirm(colour, i)) {
                    table.dropSpare(colour, i, j);
                    more[j]--;
                    left--;
                }
            }
        }
    }

    /** First all that fits as it is, then one by one, in order of senders, what needs swapping. */
    private void place() {
        int[] firm = table.firm();
        listed.clear();
        for (int distance = 1; distance < edges; distance++) {
            int first = pairs.first(distance);
            for (int i = 0; i < edges; i++) {
                int missing = wanted[first + i] - firm[first + i];
                if (missing > 0) {
                    int j = pairs.receiver(distance, i);
                    missing -= table.connectInCommon(i, j, missing);
                    if (missing > 0) {
                        listed.add(i, j, missing);
                    }
                }
            }
        }
        for (int i = 0; i < edges; i++) {
            int left = listed.take(i, more);
            for (int j = 0; left > 0; j++) {
                for (; more[j] > 0; more[j]--) {
                    if (table.connectInCommon(i, j, 1) == 0) {
                        table.connectBySwapping(i, j);
                    }
                    left--;
                }
            }
        }
    }

    /** Connects who is free in the same slot, beginning as the fixed rotation does, so that all pairs get some. */
    private void fillSpare() {
        for (int word = 0; word * Long.SIZE < slots; word++) {
            if (!table.idle(word, idleSenders, idleReceivers)) {
                continue;
            }
            int count = Math.min(Long.SIZE, slots - word * Long.SIZE);
            for (int k = 0; k < count; k++) {
                int colour = word * Long.SIZE + k;
                for (int edgeWord = 0; edgeWord < edgeWords; edgeWord++) {
                    for (long rest = idleSenders[k * edgeWords + edgeWord]; rest != 0; rest &= rest - 1) {
                        connectSpare(colour, edgeWord * Long.SIZE + Long.numberOfTrailingZeros(rest), k * edgeWords);
                    }
                }
            }
        }
    }

    private void connectSpare(int colour, int i, int receivers) {
        int start = (i + 1 + colour % (edges - 1)) % edges;
        int j = nextIdle(receivers, start, edges);
        while (j != ColourTable.NONE && !mayHaveSpare(i, j)) {
            j = nextIdle(receivers, j + 1, edges);
        }
        if (j == ColourTable.NONE) {
            j = nextIdle(receivers, 0, start);
            while (j != ColourTable.NONE && !mayHaveSpare(i, j)) {
                j = nextIdle(receivers, j + 1, start);
            }
        }
        if (j != ColourTable.NONE) {
            idleReceivers[receivers + j / Long.SIZE] &= ~(1L << j);
            table.addSpare(colour, i, j);
        }
    }

    private boolean mayHaveSpare(int i, int j) {
        return i != j && table.spare()[pairs.place(i, j)] < spareLimit(i, j);
    }

    private int nextIdle(int receivers, int from, int end) {
        for (int word = from / Long.SIZE; word * Long.SIZE < end; word++) {
            long bits = idleReceivers[receivers + word];
            if (word == from / Long.SIZE) {
                bits &= -1L << from;
            }
            if (bits != 0) {
                int column = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                return column < end ? column : ColourTable.NONE;
            }
        }
        return ColourTable.NONE;
    }
}
