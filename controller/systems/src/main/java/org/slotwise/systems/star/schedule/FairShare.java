// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;
import org.slotwise.systems.star.model.CorePorts;

/**
 * Makes a service matrix of whole slots from a request matrix. Rows are senders, columns receivers; each line has the
 * capacity of a frame, and edges that share a port of the core share its two lines. The diagonal is always zero: an edge
 * does not send to itself.
 *
 * <p>Classes are served one after the other. Within a class, requests that fit are granted; others are water-filled
 * ({@link WaterFill}) and rounded down. Whole slots left over go to the pairs that were rounded down most over the last
 * frames, so that a share of less than a slot is a slot every few frames, and then in turn to whoever still wants one. In the
 * end each pair that has nothing may get a slot if both lines have room: a packet of a new stream need not wait for a
 * request.
 */
final class FairShare {
    /** Largest request of a pair, slots; larger ones count as this. */
    static final int MAX_REQUEST = 1 << 16;

    /** How entries rise. */
    enum Share {
        /** By weight: weighted max-min fair. */
        EQUAL,
        /** By weight times request. */
        PROPORTIONAL
    }

    /** What a pair is owed is kept in units of 2^-16 slot, and compared in those of 2^-6. */
    private static final int OWED_BITS = 16;
    private static final int OWED_DROPPED_BITS = 10;
    private static final int MAX_OWED = 16 << OWED_BITS;
    private static final int OWED_BUCKETS = (MAX_OWED >> OWED_DROPPED_BITS) + 1;

    private final int edges;
    /** Line of each edge. */
    private final int[] lineOf;
    private final Square square;
    private final int capacity;
    private final Share share;
    private final PairWeights weights;
    private final boolean idleToo;
    private final WaterFill water;
    private final int[] request;
    private final int[] weight;
    private final int[] service;
    private final long[] rowRequest;
    private final long[] columnRequest;
    private final int[] rowRoom;
    private final int[] columnRoom;
    private final int[] owed;
    private final int[] unmet;
    private final int[] byOwed;
    /** Whether anybody was ever owed anything. */
    private boolean isOwing;
    private final int[] columnSum;
    /** Whether all had what they asked for, and others a slot: {@code request} is what they had then, {@code asked} what was asked for. */
    private boolean allGranted;
    private final int[] asked;
    /** Pairs that ask for nothing. */
    private final int[] rowIdle;
    private final int[] columnIdle;
    /** Senders that have room left. */
    private final int[] withRoom;
    private final int[] bucketEnd = new int[OWED_BUCKETS + 1];

    /** For edges with a port each. */
    FairShare(int edges, int capacity, Share share, PairWeights weights, boolean idleToo) {
        this(CorePorts.ofItsOwn(edges), capacity, share, weights, idleToo);
    }

    /**
     * For lines of {@code capacity} slots.
     *
     * @param weights for so many edges
     * @param idleToo whether pairs that ask for nothing get a slot where there is room
     */
    FairShare(CorePorts ports, int capacity, Share share, PairWeights weights, boolean idleToo) {
        this.edges = ports.edges();
        this.lineOf = new int[edges];
        Arrays.setAll(lineOf, ports::portOf);
        this.square = new Square(edges);
        this.capacity = capacity;
        this.share = share;
        this.weights = weights;
        this.idleToo = idleToo;
        this.water = new WaterFill(ports, capacity);
        this.request = new int[square.length()];
        this.weight = new int[square.length()];
        this.service = new int[square.length()];
        this.rowRequest = new long[ports.count()];
        this.columnRequest = new long[ports.count()];
        this.rowRoom = new int[ports.count()];
        this.columnRoom = new int[ports.count()];
        this.owed = new int[square.length()];
        this.unmet = new int[square.length()];
        this.byOwed = new int[square.length()];
        this.columnSum = new int[edges];
        this.asked = new int[square.length()];
        this.rowIdle = new int[edges];
        this.columnIdle = new int[edges];
        this.withRoom = new int[edges];
    }

    /** Returns slots by place in {@link Square}, valid until the next call; no line exceeds the capacity. */
    int[] allocate(int[][] requests) {
        Arrays.fill(rowRoom, capacity);
        Arrays.fill(columnRoom, capacity);
        return allocateRoom(requests);
    }

    /** The same where lines have no more than this room, each 0 .. the capacity. */
    int[] allocate(int[][] requests, int[] sending, int[] receiving) {
        System.arraycopy(sending, 0, rowRoom, 0, rowRoom.length);
        System.arraycopy(receiving, 0, columnRoom, 0, columnRoom.length);
        return allocateRoom(requests);
    }

    private int[] allocateRoom(int[][] requests) {
        boolean alike = weights.classes() == 1 && isUniform() && edges == rowRoom.length;
        if (alike) {
            if (allGranted) {
                takeChanges(requests);
                if (fits() && idleFitsToo()) {
                    forgetOwed(asked);
                    return request;
                }
            }
            takeAll(requests);
            allGranted = idleToo && fits() && idleFitsToo();
            if (allGranted) {
                grantAllAndIdle(requests);
                forgetOwed(asked);
                return request;
            }
        }
        Arrays.fill(service, 0);
        for (int rank = 0; rank < weights.classes(); rank++) {
            if (!alike) {
                takeRequests(requests, rank);
            }
            if (fits()) {
                grantAll();
            } else {
                grantShares();
            }
        }
        if (idleToo) {
            grantToIdle();
        }
        return service;
    }

    private void takeRequests(int[][] requests, int rank) {
        boolean single = weights.classes() == 1;
        boolean uniform = isUniform();
        Arrays.fill(rowRequest, 0);
        Arrays.fill(columnRequest, 0);
        for (int i = 0; i < edges; i++) {
            int[] row = requests[i];
            long sum = 0;
            for (int j = 0; j < edges; j++) {
                int entry = square.entry(i, j);
                boolean counts = i != j && (single || weights.rank(i, j) == rank);
                int wanted = counts ? Math.max(0, Math.min(row[j], MAX_REQUEST)) : 0;
                int possible = Math.min(wanted, capacity);
                request[entry] = possible;
                sum += possible;
                columnRequest[lineOf[j]] += possible;
                if (!uniform) {
                    weight[entry] = weights.weight(i, j) * (share == Share.PROPORTIONAL ? Math.max(1, wanted) : 1);
                }
            }
            rowRequest[lineOf[i]] += sum;
        }
    }

    /** The same of one class of pairs that are alike, with a port for each edge, and who asks for nothing: loops that are done in vectors. */
    private void takeAll(int[][] requests) {
        int most = Math.min(MAX_REQUEST, capacity);
        Arrays.fill(columnSum, 0);
        Arrays.fill(columnIdle, 0);
        for (int i = 0; i < edges; i++) {
            int[] row = requests[i];
            int first = square.entry(i, 0);
            int sum = 0;
            int idle = 0;
            for (int j = 0; j < edges; j++) {
                int possible = Math.max(0, Math.min(row[j], most));
                int none = possible - 1 >>> Integer.SIZE - 1;
                request[first + j] = possible;
                columnSum[j] += possible;
                columnIdle[j] += none;
                sum += possible;
                idle += none;
            }
            int toItself = request[first + i];
            int isIdle = toItself - 1 >>> Integer.SIZE - 1;
            request[first + i] = 0;
            columnSum[i] -= toItself;
            columnIdle[i] -= isIdle;
            rowRequest[i] = (long) sum - toItself;
            rowIdle[i] = idle - isIdle;
        }
        for (int j = 0; j < edges; j++) {
            columnRequest[j] = columnSum[j];
        }
    }

    /** Of what {@link #takeAll} took. */
    private boolean idleFitsToo() {
        for (int edge = 0; edge < edges; edge++) {
            if (rowRequest[edge] + rowIdle[edge] > rowRoom[edge] || columnRequest[edge] + columnIdle[edge] > columnRoom[edge]) {
                return false;
            }
        }
        return true;
    }

    /** What was taken becomes what is granted, with a slot for who asks for nothing. */
    private void grantAllAndIdle(int[][] requests) {
        for (int i = 0; i < edges; i++) {
            int first = square.entry(i, 0);
            System.arraycopy(requests[i], 0, asked, first, edges);
            for (int j = 0; j < edges; j++) {
                request[first + j] = Math.max(1, request[first + j]);
            }
            request[first + i] = 0;
        }
    }

    /** Like {@link #takeAll} and {@link #grantAllAndIdle}, after these: looks at what is asked for otherwise than then only. */
    private void takeChanges(int[][] requests) {
        for (int i = 0; i < edges; i++) {
            int[] row = requests[i];
            int first = square.entry(i, 0);
            for (int j = nextChange(row, 0, first); j < edges; j = nextChange(row, j + 1, first)) {
                int before = possible(asked[first + j]);
                int now = possible(row[j]);
                asked[first + j] = row[j];
                if (i != j) {
                    int idle = (now - 1 >>> Integer.SIZE - 1) - (before - 1 >>> Integer.SIZE - 1);
                    rowRequest[i] += now - before;
                    columnRequest[j] += now - before;
                    rowIdle[i] += idle;
                    columnIdle[j] += idle;
                    request[first + j] = Math.max(1, now);
                }
            }
        }
    }

    private int nextChange(int[] row, int from, int first) {
        int same = Arrays.mismatch(row, from, edges, asked, first + from, first + edges);
        return same < 0 ? edges : from + same;
    }

    private int possible(int wanted) {
        return Math.max(0, Math.min(wanted, Math.min(MAX_REQUEST, capacity)));
    }

    private boolean isUniform() {
        return share == Share.EQUAL && weights.areAlike();
    }

    private boolean fits() {
        for (int line = 0; line < rowRoom.length; line++) {
            if (rowRequest[line] > rowRoom[line] || columnRequest[line] > columnRoom[line]) {
                return false;
            }
        }
        return true;
    }

    private void grantAll() {
        for (int entry = 0; entry < request.length; entry++) {
            service[entry] += request[entry];
        }
        forgetOwed(request);
        for (int line = 0; line < rowRoom.length; line++) {
            rowRoom[line] -= (int) rowRequest[line];
            columnRoom[line] -= (int) columnRequest[line];
        }
    }

    /** Whoever asks is owed nothing afterwards. */
    private void forgetOwed(int[] wanted) {
        if (!isOwing) {
            return;
        }
        for (int entry = 0; entry < wanted.length; entry++) {
            owed[entry] = wanted[entry] > 0 ? 0 : owed[entry];
        }
    }

    private void grantShares() {
        isOwing = true;
        long[] amount = water.fill(request, isUniform() ? null : weight, rowRoom, columnRoom);
        int waiting = 0;
        for (int entry = 0; entry < request.length; entry++) {
            if (request[entry] == 0) {
                continue;
            }
            int whole = (int) (amount[entry] + WaterFill.TOLERANCE >>> WaterFill.FRACTION_BITS);
            if (whole > 0) {
                grant(entry, whole);
            }
            if (whole < request[entry]) {
                long rest = Math.max(0, amount[entry] - ((long) whole << WaterFill.FRACTION_BITS));
                int more = owed[entry] + (int) (rest >>> WaterFill.FRACTION_BITS - OWED_BITS);
                owed[entry] = Math.min(MAX_OWED - 1, more);
                unmet[waiting++] = entry;
            } else {
                owed[entry] = 0;
            }
        }
        sortByOwed(waiting);
        // Whoever wants more can have it while both lines have room; nobody gets a second before others got one.
        for (int left = waiting; left > 0; ) {
            left = grantOneEach(left);
        }
    }

    /** Orders the unmet by whole slots owed and what they are owed beyond, most first, by counting. */
    private void sortByOwed(int waiting) {
        Arrays.fill(bucketEnd, 0);
        for (int k = 0; k < waiting; k++) {
            bucketEnd[bucket(unmet[k]) + 1]++;
        }
        for (int bucket = 1; bucket < bucketEnd.length; bucket++) {
            bucketEnd[bucket] += bucketEnd[bucket - 1];
        }
        for (int k = 0; k < waiting; k++) {
            byOwed[bucketEnd[bucket(unmet[k])]++] = unmet[k];
        }
    }

    private int bucket(int entry) {
        return OWED_BUCKETS - 1 - (Math.max(0, owed[entry]) >> OWED_DROPPED_BITS);
    }

    /** Keeps in {@code byOwed}, and counts, those that got a slot and want another. */
    private int grantOneEach(int waiting) {
        int left = 0;
        for (int k = 0; k < waiting; k++) {
            int entry = byOwed[k];
            if (hasRoom(entry)) {
                grant(entry, 1);
                owed[entry] = Math.max(-MAX_OWED, owed[entry] - (1 << OWED_BITS));
                if (service[entry] < request[entry]) {
                    byOwed[left++] = entry;
                }
            }
        }
        return left;
    }

    private void grantToIdle() {
        if (idleFit()) {
            for (int i = 0; i < edges; i++) {
                int first = square.entry(i, 0);
                for (int j = 0; j < edges; j++) {
                    service[first + j] = Math.max(1, service[first + j]);
                }
                service[first + i] = 0;
            }
        } else {
            grantToIdleInTurn();
        }
    }

    /** Whether all pairs that have nothing can have a slot. */
    private boolean idleFit() {
        Arrays.fill(rowRequest, 0);
        Arrays.fill(columnRequest, 0);
        Arrays.fill(columnSum, -1);
        for (int i = 0; i < edges; i++) {
            int first = square.entry(i, 0);
            int idle = 0;
            for (int j = 0; j < edges; j++) {
                int one = service[first + j] - 1 >>> Integer.SIZE - 1;
                columnSum[j] += one;
                idle += one;
            }
            // Nobody sends to itself.
            rowRequest[lineOf[i]] += idle - 1;
        }
        for (int j = 0; j < edges; j++) {
            columnRequest[lineOf[j]] += columnSum[j];
        }
        return fits();
    }

    private void grantToIdleInTurn() {
        int senders = 0;
        for (int i = 0; i < edges; i++) {
            if (rowRoom[lineOf[i]] > 0) {
                withRoom[senders++] = i;
            }
        }
        for (int distance = 1; distance < edges && senders > 0; distance++) {
            int left = 0;
            for (int k = 0; k < senders; k++) {
                int i = withRoom[k];
                int j = i + distance < edges ? i + distance : i + distance - edges;
                int entry = square.entry(i, j);
                if (service[entry] == 0 && hasRoom(entry)) {
                    grant(entry, 1);
                }
                withRoom[left] = i;
                left += rowRoom[lineOf[i]] > 0 ? 1 : 0;
            }
            senders = left;
        }
    }

    private boolean hasRoom(int entry) {
        return rowRoom[lineOf[square.row(entry)]] > 0 && columnRoom[lineOf[square.column(entry)]] > 0;
    }

    private void grant(int entry, int slots) {
        service[entry] += slots;
        rowRoom[lineOf[square.row(entry)]] -= slots;
        columnRoom[lineOf[square.column(entry)]] -= slots;
    }
}
