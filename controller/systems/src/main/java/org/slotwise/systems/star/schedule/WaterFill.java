// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;
import org.slotwise.systems.star.model.CorePorts;

/**
 * Weighted max-min fair shares of rows and columns, by water-filling: all entries rise together, each at the speed of its
 * weight; an entry stops when it is met and a line's open entries stop when it is full. It jumps from one of these events to
 * the next, so n lines take O(n^2) steps, and sorting where weights differ. Edges that share a port share its two lines.
 *
 * <p>Levels and amounts are integers in units of 2^-{@link #FRACTION_BITS}.
 */
final class WaterFill {
    static final int FRACTION_BITS = 40;
    /** More than the rounding of an amount, and so little that a line's sum is never off by a slot. */
    static final long TOLERANCE = 1L << 26;
    /** Entries have numbers of so many bits, below their threshold in a sorting key. */
    private static final int ENTRY_BITS = 20;
    static final int MAX_EDGES = 1 << ENTRY_BITS / 2;
    private static final int DROPPED_BITS = 12;

    private final int edges;
    private final CorePorts ports;
    private final int lines;
    private final Square square;
    /** Line of each edge as a sender; as a receiver it is as many further on as there are rows. */
    private final int[] lineOf;
    /** Rows, then columns: room left for entries that still rise, and the sum of their weights. */
    private final long[] room;
    private final long[] weightSum;
    private final long[] requested;
    /** Amount by entry; negative while it rises. */
    private final long[] amount;
    private final long[] keys;
    private final int[] order;
    private final int[] bucketEnd;
    private final LineHeap heap;
    private int[] request;
    private int[] weight;

    /** For requests of up to {@code largest} a pair. */
    WaterFill(CorePorts ports, int largest) {
        if (ports.edges() > MAX_EDGES) {
            throw new IllegalArgumentException("expected at most " + MAX_EDGES + " edges, got " + ports.edges());
        }
        this.edges = ports.edges();
        this.ports = ports;
        this.lines = ports.count();
        this.square = new Square(edges);
        this.lineOf = new int[edges];
        Arrays.setAll(lineOf, ports::portOf);
        this.room = new long[2 * lines];
        this.weightSum = new long[2 * lines];
        this.requested = new long[2 * lines];
        this.amount = new long[square.length()];
        this.keys = new long[square.length()];
        this.order = new int[square.length()];
        this.bucketEnd = new int[largest + 2];
        this.heap = new LineHeap(2 * lines);
    }

    /**
     * Returns amounts by entry, valid until the next call.
     *
     * @param request by place in {@link Square}, 0 .. largest
     * @param weight by entry, at least 1; null if all are alike
     * @param rowRoom slots that each port can still send in; {@code columnRoom} the same for receiving
     */
    long[] fill(int[] request, int[] weight, int[] rowRoom, int[] columnRoom) {
        this.request = request;
        this.weight = weight;
        sumUp(rowRoom, columnRoom);
        heap.clear();
        for (int line = 0; line < 2 * lines; line++) {
            // Others can never be full before their entries are met.
            if (requested[line] > room[line] >>> FRACTION_BITS) {
                heap.add(room[line] / weightSum[line], line);
            }
        }
        int rising = weight == null ? sortByRequest() : sortByThreshold();
        for (int k = 0; k < rising; k++) {
            int entry = order[k];
            if (amount[entry] < 0) {
                long threshold = threshold(entry);
                if (heap.top() < threshold) {
                    fillLinesBelow(threshold);
                }
                if (amount[entry] < 0) {
                    freeze(entry, (long) request[entry] << FRACTION_BITS);
                }
            }
        }
        return amount;
    }

    private void sumUp(int[] rowRoom, int[] columnRoom) {
        Arrays.fill(requested, 0);
        Arrays.fill(weightSum, 0);
        for (int line = 0; line < lines; line++) {
            room[line] = (long) rowRoom[line] << FRACTION_BITS;
            room[lines + line] = (long) columnRoom[line] << FRACTION_BITS;
        }
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                int entry = square.entry(i, j);
                int wanted = request[entry];
                amount[entry] = wanted > 0 ? -1 : 0;
                if (wanted > 0) {
                    int speed = weight == null ? 1 : weight[entry];
                    requested[lineOf[i]] += wanted;
                    requested[lines + lineOf[j]] += wanted;
                    weightSum[lineOf[i]] += speed;
                    weightSum[lines + lineOf[j]] += speed;
                }
            }
        }
    }

    /** Orders entries by counting, and returns how many there are. */
    private int sortByRequest() {
        Arrays.fill(bucketEnd, 0);
        for (int entry = 0; entry < request.length; entry++) {
            bucketEnd[request[entry] + 1]++;
        }
        int zeros = bucketEnd[1];
        bucketEnd[1] = 0;
        for (int value = 2; value < bucketEnd.length; value++) {
            bucketEnd[value] += bucketEnd[value - 1];
        }
        for (int entry = 0; entry < request.length; entry++) {
            if (request[entry] > 0) {
                order[bucketEnd[request[entry]]++] = entry;
            }
        }
        return request.length - zeros;
    }

    private int sortByThreshold() {
        int rising = 0;
        for (int entry = 0; entry < request.length; entry++) {
            if (request[entry] > 0) {
                keys[rising++] = threshold(entry) >>> DROPPED_BITS << ENTRY_BITS | entry;
            }
        }
        Arrays.sort(keys, 0, rising);
        for (int k = 0; k < rising; k++) {
            order[k] = (int) (keys[k] & (1 << ENTRY_BITS) - 1);
        }
        return rising;
    }

    /** Level at which an entry is met. */
    private long threshold(int entry) {
        long wanted = (long) request[entry] << FRACTION_BITS;
        return weight == null ? wanted : wanted / weight[entry];
    }

    private void fillLinesBelow(long threshold) {
        while (heap.top() < threshold) {
            int line = heap.topLine();
            if (weightSum[line] == 0) {
                heap.removeTop();
                continue;
            }
            // Entries met since it was computed only raise it.
            long level = room[line] / weightSum[line];
            if (level > heap.top()) {
                heap.raiseTop(level);
            } else {
                heap.removeTop();
                freezeLine(line, level);
            }
        }
    }

    private void freezeLine(int line, long level) {
        int port = line < lines ? line : line - lines;
        for (int index = 0; index < ports.edgesAt(port); index++) {
            int edge = ports.edgeAt(port, index);
            for (int k = 0; k < edges; k++) {
                int entry = line < lines ? square.entry(edge, k) : square.entry(k, edge);
                if (amount[entry] < 0) {
                    freeze(entry, weight == null ? level : level * weight[entry]);
                }
            }
        }
    }

    private void freeze(int entry, long units) {
        int row = lineOf[square.row(entry)];
        int column = lines + lineOf[square.column(entry)];
        int speed = weight == null ? 1 : weight[entry];
        amount[entry] = units;
        room[row] -= units;
        room[column] -= units;
        weightSum[row] -= speed;
        weightSum[column] -= speed;
    }

    /** Lines by the level at which they are full; a level may be out of date, but never too high. */
    private static final class LineHeap {
        private final long[] levels;
        private final int[] lines;
        private int size;

        LineHeap(int capacity) {
            levels = new long[capacity];
            lines = new int[capacity];
        }

        void clear() {
            size = 0;
        }

        long top() {
            return size == 0 ? Long.MAX_VALUE : levels[0];
        }

        int topLine() {
            return lines[0];
        }

        void add(long level, int line) {
            int place = size++;
            while (place > 0 && levels[(place - 1) / 2] > level) {
                levels[place] = levels[(place - 1) / 2];
                lines[place] = lines[(place - 1) / 2];
                place = (place - 1) / 2;
            }
            levels[place] = level;
            lines[place] = line;
        }

        void raiseTop(long level) {
            siftDown(level, lines[0]);
        }

        void removeTop() {
            size--;
            if (size > 0) {
                siftDown(levels[size], lines[size]);
            }
        }

        private void siftDown(long level, int line) {
            int place = 0;
            while (2 * place + 1 < size) {
                int child = 2 * place + 1;
                if (child + 1 < size && levels[child + 1] < levels[child]) {
                    child++;
                }
                if (levels[child] >= level) {
                    break;
                }
                levels[place] = levels[child];
                lines[place] = lines[child];
                place = child;
            }
            levels[place] = level;
            lines[place] = line;
        }
    }
}
