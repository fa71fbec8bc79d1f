// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Makes a service matrix of whole slots from a request matrix. Rows are senders, columns receivers; each line has the
 * capacity of a frame. The diagonal is always zero: an edge does not send to itself.
 *
 * <p>Requests that fit are granted. Others are water-filled: all entries rise together, an entry stops when it is met
 * and a line when it is full; what is left of whole slots after rounding down goes to the largest remainders, then to
 * whoever still has backlog. Slots that nobody asked for go evenly to the pairs that have least.
 */
final class FairShare {
    /** Largest request of a pair, slots; larger ones count as this. */
    static final int MAX_REQUEST = 1 << 16;

    /** How entries rise. */
    enum Share {
        /** All at the same speed: max-min fair. */
        EQUAL,
        /** Each at a speed proportional to its request. */
        PROPORTIONAL
    }

    /** Water levels are integers in units of 2^-40 slot. */
    static final int FRACTION_BITS = 40;

    private final int edges;
    private final int capacity;
    private final int[][] request;
    private final int[][] service;
    private final int[] rowRoom;
    private final int[] columnRoom;

    private FairShare(int[][] request, int capacity) {
        this.edges = request.length;
        this.capacity = capacity;
        this.request = new int[edges][edges];
        this.service = new int[edges][edges];
        this.rowRoom = new int[edges];
        this.columnRoom = new int[edges];
        for (int i = 0; i < edges; i++) {
            rowRoom[i] = capacity;
            columnRoom[i] = capacity;
            for (int j = 0; j < edges; j++) {
                this.request[i][j] = i == j ? 0 : Math.max(0, Math.min(request[i][j], MAX_REQUEST));
            }
        }
    }

    /** Returns slots by (sender, receiver); no line exceeds {@code capacity}. */
    static int[][] allocate(int[][] request, int capacity, Share share) {
        FairShare fair = new FairShare(request, capacity);
        fair.grantWholeSlots(waterFill(fair.request, capacity, share));
        fair.grantBacklog();
        fair.grantEvenly();
        return fair.service;
    }

    /** Exact shares in units of 2^-FRACTION_BITS slot, before rounding. */
    static long[][] waterFill(int[][] request, int capacity, Share share) {
        int n = request.length;
        long[][] level = new long[n][n];
        long[] rowRoom = new long[n];
        long[] columnRoom = new long[n];
        boolean[][] rising = new boolean[n][n];
        for (int i = 0; i < n; i++) {
            rowRoom[i] = (long) capacity << FRACTION_BITS;
            columnRoom[i] = rowRoom[i];
            for (int j = 0; j < n; j++) {
                rising[i][j] = request[i][j] > 0;
            }
        }
        while (raise(request, share, level, rowRoom, columnRoom, rising)) {
            freeze(request, share, level, rowRoom, columnRoom, rising);
        }
        return level;
    }

    /** Raises all rising entries as far as the first limit; false when none rises any more. */
    private static boolean raise(int[][] request, Share share, long[][] level, long[] rowRoom, long[] columnRoom,
            boolean[][] rising) {
        int n = request.length;
        long[][] speeds = lineSpeeds(request, share, rising);
        long step = Long.MAX_VALUE;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (rising[i][j]) {
                    long missing = ((long) request[i][j] << FRACTION_BITS) - level[i][j];
                    step = Math.min(step, missing / speed(request[i][j], share));
                    step = Math.min(step, rowRoom[i] / speeds[0][i]);
                    step = Math.min(step, columnRoom[j] / speeds[1][j]);
                }
            }
        }
        if (step == Long.MAX_VALUE) {
            return false;
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (rising[i][j]) {
                    add(step * speed(request[i][j], share), i, j, level, rowRoom, columnRoom);
                }
            }
        }
        return true;
    }

    /** Freezes entries that are met and lines that have no room for another unit step. */
    private static void freeze(int[][] request, Share share, long[][] level, long[] rowRoom, long[] columnRoom,
            boolean[][] rising) {
        int n = request.length;
        long[][] speeds = lineSpeeds(request, share, rising);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (!rising[i][j]) {
                    continue;
                }
                long missing = ((long) request[i][j] << FRACTION_BITS) - level[i][j];
                if (missing < speed(request[i][j], share)) {
                    add(Math.min(missing, Math.min(rowRoom[i], columnRoom[j])), i, j, level, rowRoom, columnRoom);
                    rising[i][j] = false;
                } else if (rowRoom[i] < speeds[0][i] || columnRoom[j] < speeds[1][j]) {
                    rising[i][j] = false;
                }
            }
        }
    }

    private static void add(long units, int i, int j, long[][] level, long[] rowRoom, long[] columnRoom) {
        level[i][j] += units;
        rowRoom[i] -= units;
        columnRoom[j] -= units;
    }

    /** Sum of the speeds of rising entries, by row and by column. */
    private static long[][] lineSpeeds(int[][] request, Share share, boolean[][] rising) {
        int n = request.length;
        long[][] speeds = new long[2][n];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (rising[i][j]) {
                    speeds[0][i] += speed(request[i][j], share);
                    speeds[1][j] += speed(request[i][j], share);
                }
            }
        }
        return speeds;
    }

    private static long speed(int request, Share share) {
        return share == Share.EQUAL ? 1 : request;
    }

    private void grantWholeSlots(long[][] level) {
        long fractionMask = (1L << FRACTION_BITS) - 1;
        List<int[]> remainders = new ArrayList<>();
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                grant(i, j, (int) (level[i][j] >>> FRACTION_BITS));
                if ((level[i][j] & fractionMask) != 0) {
                    remainders.add(new int[] {i, j});
                }
            }
        }
        remainders.sort(Comparator.comparingLong(
                (int[] pair) -> level[pair[0]][pair[1]] & fractionMask).reversed());
        for (int[] pair : remainders) {
            if (hasRoom(pair[0], pair[1])) {
                grant(pair[0], pair[1], 1);
            }
        }
    }

    private void grantBacklog() {
        while (true) {
            int sender = -1;
            int receiver = -1;
            int most = 0;
            for (int i = 0; i < edges; i++) {
                for (int j = 0; j < edges; j++) {
                    int backlog = request[i][j] - service[i][j];
                    if (backlog > most && hasRoom(i, j)) {
                        most = backlog;
                        sender = i;
                        receiver = j;
                    }
                }
            }
            if (most == 0) {
                return;
            }
            grant(sender, receiver, 1);
        }
    }

    /** Level by level, pairs by distance, so that spare slots spread over senders and receivers alike. */
    private void grantEvenly() {
        for (int slots = 0; slots < capacity; slots++) {
            for (int distance = 1; distance < edges; distance++) {
                for (int i = 0; i < edges; i++) {
                    int j = (i + distance) % edges;
                    if (service[i][j] == slots && hasRoom(i, j)) {
                        grant(i, j, 1);
                    }
                }
            }
        }
    }

    private boolean hasRoom(int i, int j) {
        return rowRoom[i] > 0 && columnRoom[j] > 0;
    }

    private void grant(int i, int j, int slots) {
        service[i][j] += slots;
        rowRoom[i] -= slots;
        columnRoom[j] -= slots;
    }
}
