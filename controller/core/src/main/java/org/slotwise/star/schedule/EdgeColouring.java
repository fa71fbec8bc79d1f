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
    private final int slots;
    private final ColourTable table;
    private final int[] rowSum;
    private final int[] columnSum;
    /** Connections that a row wants more, by column. */
    private final int[] more;
    /** Spare connections that a pair may have by its sender's room, and by its receiver's. */
    private final int[] rowSpare;
    private final int[] columnSpare;
    private final long[] freeColumns;
    private FrameSchedule last;

    /** For frames of {@code slots} slots between {@code edges} edges. */
    EdgeColouring(int edges, int slots, SlotOrder order) {
        this.edges = edges;
        this.square = new Square(edges);
        this.slots = slots;
        this.table = new ColourTable(edges, slots, order);
        this.rowSum = new int[edges];
        this.columnSum = new int[edges];
        this.more = new int[edges];
        this.rowSpare = new int[edges];
        this.columnSpare = new int[edges];
        this.freeColumns = new long[(edges + Long.SIZE - 1) / Long.SIZE];
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
        turnFirmAndSpare(service);
        place(service);
        trimSpare();
        fillSpare();
        FrameSchedule next = table.toSchedule();
        last = next.equals(before) ? before : next;
        return last;
    }

    private void checkAdmissible(int[] service) {
        Arrays.fill(rowSum, 0);
        Arrays.fill(columnSum, 0);
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                int wanted = service[square.entry(i, j)];
                if (wanted < 0 || wanted > slots || i == j && wanted != 0) {
                    throw new IllegalArgumentException("service[" + i + "][" + j + "] cannot be " + wanted);
                }
                rowSum[i] += wanted;
                columnSum[j] += wanted;
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

    /** No pair keeps all that another once needed: each may have its part of the room and one more. */
    private int spareLimit(int i, int j) {
        return Math.min(rowSpare[i], columnSpare[j]);
    }

    /** Makes spare connections firm where a pair wants more, and firm ones spare where it wants less. */
    private void turnFirmAndSpare(int[] service) {
        for (int i = 0; i < edges; i++) {
            boolean any = false;
            for (int j = 0; j < edges; j++) {
                more[j] = service[square.entry(i, j)] - table.firm(i, j);
                any |= more[j] < 0 || more[j] > 0 && table.spare(i, j) > 0;
            }
            for (int colour = slots - 1; any && colour >= 0; colour--) {
                int j = table.receiver(colour, i);
                if (j == ColourTable.NONE || more[j] == 0) {
                    continue;
                }
                boolean firm = table.isFirm(colour, i);
                if (firm && more[j] < 0) {
                    table.makeSpare(colour, i, j);
                    more[j]++;
                } else if (!firm && more[j] > 0) {
                    table.makeFirm(colour, i, j);
                    more[j]--;
                }
            }
        }
    }

    private void trimSpare() {
        for (int i = 0; i < edges; i++) {
            boolean any = false;
            for (int j = 0; j < edges; j++) {
                any |= table.spare(i, j) > spareLimit(i, j);
            }
            for (int colour = slots - 1; any && colour >= 0; colour--) {
                int j = table.receiver(colour, i);
                if (j != ColourTable.NONE && !table.isFirm(colour, i) && table.spare(i, j) > spareLimit(i, j)) {
                    table.dropSpare(colour, i, j);
                }
            }
        }
    }

    /** First all that fits as it is, then one by one what needs swapping. */
    private void place(int[] service) {
        for (int distance = 1; distance < edges; distance++) {
            for (int i = 0; i < edges; i++) {
                int j = i + distance < edges ? i + distance : i + distance - edges;
                int missing = service[square.entry(i, j)] - table.firm(i, j);
                if (missing > 0) {
                    table.connectInCommon(i, j, missing);
                }
            }
        }
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                for (int missing = service[square.entry(i, j)] - table.firm(i, j); missing > 0; missing--) {
                    if (table.connectInCommon(i, j, 1) == 0) {
                        table.connectBySwapping(i, j);
                    }
                }
            }
        }
    }

    /** Connects who is free in the same slot, beginning as the fixed rotation does, so that all pairs get some. */
    private void fillSpare() {
        for (int colour = 0; colour < slots; colour++) {
            if (table.isFull(colour)) {
                continue;
            }
            Arrays.fill(freeColumns, 0);
            for (int j = 0; j < edges; j++) {
                if (table.sender(colour, j) == ColourTable.NONE) {
                    freeColumns[j / Long.SIZE] |= 1L << j;
                }
            }
            for (int i = 0; i < edges; i++) {
                if (table.receiver(colour, i) == ColourTable.NONE) {
                    connectSpare(colour, i);
                }
            }
        }
    }

    private void connectSpare(int colour, int i) {
        int start = (i + 1 + colour % (edges - 1)) % edges;
        int j = nextFreeColumn(start, edges);
        while (j != ColourTable.NONE && !mayHaveSpare(i, j)) {
            j = nextFreeColumn(j + 1, edges);
        }
        if (j == ColourTable.NONE) {
            j = nextFreeColumn(0, start);
            while (j != ColourTable.NONE && !mayHaveSpare(i, j)) {
                j = nextFreeColumn(j + 1, start);
            }
        }
        if (j != ColourTable.NONE) {
            freeColumns[j / Long.SIZE] &= ~(1L << j);
            table.addSpare(colour, i, j);
        }
    }

    private boolean mayHaveSpare(int i, int j) {
        return i != j && table.spare(i, j) < spareLimit(i, j);
    }

    private int nextFreeColumn(int from, int end) {
        for (int word = from / Long.SIZE; word * Long.SIZE < end; word++) {
            long bits = freeColumns[word];
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
