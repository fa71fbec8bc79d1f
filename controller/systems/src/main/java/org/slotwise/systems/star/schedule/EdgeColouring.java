// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

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
    /** Slots in which edges send and receive firmly, and are to. */
    private final int[] rowSum;
    private final int[] columnSum;
    private final int[] rowWanted;
    private final int[] columnWanted;
    /** Slots that pairs have firmly, by place in {@link Square}. */
    private final int[] placed;
    /** Pairs that want more or less than they have, by place in {@link Square}: row by row, and as the fixed rotation goes. */
    private final int[] differing;
    private final int[] byDistance;
    /** How much more each of {@code byDistance} wants. */
    private final int[] difference;
    private final int[] endOfDistance;
    private int differences;
    private final PairsOfRows listed;
    /** Of what is listed of a row, by way of {@link ColourTable} or by receiver: how many of its connections are to change. */
    private final int[] less;
    private final int[] more;
    /** Spare connections that a pair may have by its sender's room, and by its receiver's. */
    private final int[] rowSpare;
    private final int[] columnSpare;
    /** Whether a pair may have more spare connections than it should, although it wants no less than before. */
    private boolean tighter;
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
        this.rowWanted = new int[edges];
        this.columnWanted = new int[edges];
        this.placed = new int[square.length()];
        this.differing = new int[edges * edges];
        this.byDistance = new int[edges * edges];
        this.difference = new int[edges * edges];
        this.endOfDistance = new int[edges + 1];
        this.listed = new PairsOfRows(edges);
        this.less = new int[table.ways()];
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
        if (!before.equals(last)) {
            table.load(before);
            Arrays.fill(placed, 0);
            Arrays.fill(rowSum, 0);
            Arrays.fill(columnSum, 0);
            tighter = true;
            last = before;
        }
        findDifferences(service);
        checkSums();
        last = null;
        takeDifferences(service);
        turnFirmAndSpare();
        place();
        trimSpare();
        fillSpare();
        last = table.toSchedule(before);
        return last;
    }

    /** Lists the pairs that are to change, and what lines are to send and receive; changes nothing else. */
    private void findDifferences(int[] service) {
        System.arraycopy(rowSum, 0, rowWanted, 0, edges);
        System.arraycopy(columnSum, 0, columnWanted, 0, edges);
        Arrays.fill(endOfDistance, 0);
        differences = 0;
        for (int i = 0; i < edges; i++) {
            int row = square.entry(i, 0);
            int end = row + edges;
            for (int entry = nextDifference(service, row, end); entry < end; entry = nextDifference(service, entry, end)) {
                for (; entry < end && service[entry] != placed[entry]; entry++) {
                    int j = entry - row;
                    int wanted = service[entry];
                    if (wanted < 0 || wanted > slots || i == j) {
                        throw new IllegalArgumentException("service[" + i + "][" + j + "]: expected at least 0, got " + wanted);
                    }
                    rowWanted[i] += wanted - placed[entry];
                    columnWanted[j] += wanted - placed[entry];
                    differing[differences++] = entry;
                    endOfDistance[pairs.distance(i, j) + 1]++;
                }
            }
        }
    }

    /** What is the same for long is skipped many at a time. */
    private int nextDifference(int[] service, int from, int end) {
        int same = Arrays.mismatch(service, from, end, placed, from, end);
        return same < 0 ? end : from + same;
    }

    private void checkSums() {
        for (int edge = 0; edge < edges; edge++) {
            if (rowWanted[edge] > slots || columnWanted[edge] > slots) {
                throw new IllegalArgumentException("edge " + edge + ": expected at most " + slots + " slots, got " + rowWanted[edge]
                        + " to send and " + columnWanted[edge] + " to receive");
            }
        }
        for (int edge = 0; edge < edges; edge++) {
            rowSum[edge] = rowWanted[edge];
            columnSum[edge] = columnWanted[edge];
            limitSpare(rowSpare, edge, slots - rowSum[edge]);
            limitSpare(columnSpare, edge, slots - columnSum[edge]);
        }
    }

    /** No pair keeps all that another once needed: each may have its part of the room and one more. */
    private void limitSpare(int[] limits, int edge, int room) {
        int limit = 1 + (room + edges - 2) / (edges - 1);
        tighter |= limit < limits[edge];
        limits[edge] = limit;
    }

    private int spareLimit(int i, int j) {
        return Math.min(rowSpare[i], columnSpare[j]);
    }

    /** Orders what was listed as the fixed rotation goes, and counts it as changed. */
    private void takeDifferences(int[] service) {
        for (int distance = 1; distance <= edges; distance++) {
            endOfDistance[distance] += endOfDistance[distance - 1];
        }
        for (int k = 0; k < differences; k++) {
            int entry = differing[k];
            int place = endOfDistance[pairs.distance(square.row(entry), square.column(entry))]++;
            byDistance[place] = entry;
            difference[place] = service[entry] - placed[entry];
            placed[entry] = service[entry];
        }
    }

    /** Makes spare connections firm where a pair wants more, and firm ones spare where it wants less. */
    private void turnFirmAndSpare() {
        int[] spare = table.spare();
        listed.clear();
        for (int k = 0; k < differences; k++) {
            int i = square.row(byDistance[k]);
            int j = square.column(byDistance[k]);
            int amount = Math.min(difference[k], spare[pairs.place(i, j)]);
            if (amount > 0) {
                listed.add(i, table.spareTo(j), amount);
                difference[k] -= amount;
            } else if (amount < 0) {
                listed.add(i, table.firmTo(j), -amount);
            }
        }
        for (int i = 0; i < edges; i++) {
            table.turnFirmAndSpare(i, less, listed.take(i, less));
        }
    }

    private void trimSpare() {
        listed.clear();
        if (tighter) {
            for (int distance = 1; distance < edges; distance++) {
                for (int i = 0; i < edges; i++) {
                    listBeyondLimit(i, pairs.receiver(distance, i));
                }
            }
            tighter = false;
        } else {
            for (int k = 0; k < differences; k++) {
                if (difference[k] < 0) {
                    listBeyondLimit(square.row(byDistance[k]), square.column(byDistance[k]));
                }
            }
        }
        for (int i = 0; i < edges; i++) {
            table.dropSpare(i, less, listed.take(i, less));
        }
    }

    private void listBeyondLimit(int i, int j) {
        int spare = table.spare()[pairs.place(i, j)];
        if (spare > 0 && spare > spareLimit(i, j)) {
            listed.add(i, table.spareTo(j), spare - spareLimit(i, j));
        }
    }

    /** First all that fits as it is, then one by one, in order of senders, what needs swapping. */
    private void place() {
        listed.clear();
        for (int k = 0; k < differences; k++) {
            if (difference[k] > 0) {
                int i = square.row(byDistance[k]);
                int j = square.column(byDistance[k]);
                int missing = difference[k] - table.connectInCommon(i, j, difference[k]);
                if (missing > 0) {
                    listed.add(i, j, missing);
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
