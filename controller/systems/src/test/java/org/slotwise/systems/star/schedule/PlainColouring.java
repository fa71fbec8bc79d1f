// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * What {@link EdgeColouring} does, in plain words: a table of receivers by colour and sender, looked through from end to end each
 * time. It must give the same schedules, slot by slot.
 */
final class PlainColouring {
    private static final int NONE = FrameSchedule.NONE;
    /** Of so many free colours at either end paths are tried. */
    private static final int MOST_COLOURS = 16;

    private final int edges;
    private final int colours;
    private final int[] slotOfColour;
    /** By colour and sender. */
    private final int[][] receiver;
    private final boolean[][] firm;
    private FrameSchedule last;

    PlainColouring(int edges, int colours, SlotOrder order) {
        this.edges = edges;
        this.colours = colours;
        this.slotOfColour = order.slotsOfColours(colours);
        this.receiver = new int[colours][edges];
        this.firm = new boolean[colours][edges];
    }

    FrameSchedule decompose(int[][] wanted, FrameSchedule before) {
        if (!before.equals(last)) {
            load(before);
        }
        turnFirmAndSpare(wanted);
        place(wanted);
        int[][] limit = spareLimits(wanted);
        trimSpare(limit);
        fillSpare(limit);
        last = toSchedule();
        return last;
    }

    private void load(FrameSchedule before) {
        for (int colour = 0; colour < colours; colour++) {
            for (int i = 0; i < edges; i++) {
                receiver[colour][i] = before.output(slotOfColour[colour], i);
                firm[colour][i] = false;
            }
        }
    }

    private FrameSchedule toSchedule() {
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(edges, colours);
        for (int colour = 0; colour < colours; colour++) {
            for (int i = 0; i < edges; i++) {
                if (receiver[colour][i] != NONE) {
                    schedule.connect(slotOfColour[colour], i, receiver[colour][i]);
                }
            }
        }
        return schedule.build();
    }

    private int count(int i, int j, boolean firmly) {
        int count = 0;
        for (int colour = 0; colour < colours; colour++) {
            count += receiver[colour][i] == j && firm[colour][i] == firmly ? 1 : 0;
        }
        return count;
    }

    private void turnFirmAndSpare(int[][] wanted) {
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                int more = wanted[i][j] - count(i, j, true);
                for (int colour = colours - 1; colour >= 0 && more != 0; colour--) {
                    if (receiver[colour][i] == j && firm[colour][i] == more < 0) {
                        firm[colour][i] = more > 0;
                        more -= Integer.signum(more);
                    }
                }
            }
        }
    }

    private void place(int[][] wanted) {
        for (int distance = 1; distance < edges; distance++) {
            for (int i = 0; i < edges; i++) {
                int j = (i + distance) % edges;
                int missing = wanted[i][j] - count(i, j, true);
                while (missing > 0 && connectInCommon(i, j)) {
                    missing--;
                }
            }
        }
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                for (int missing = wanted[i][j] - count(i, j, true); missing > 0; missing--) {
                    if (!connectInCommon(i, j)) {
                        connectBySwapping(i, j);
                    }
                }
            }
        }
    }

    private int sender(int colour, int j) {
        for (int i = 0; i < edges; i++) {
            if (receiver[colour][i] == j) {
                return i;
            }
        }
        return NONE;
    }

    private boolean freeToSend(int colour, int i) {
        return receiver[colour][i] == NONE || !firm[colour][i];
    }

    private boolean freeToReceive(int colour, int j) {
        int i = sender(colour, j);
        return i == NONE || !firm[colour][i];
    }

    /** In the lowest colour that is free at both. */
    private boolean connectInCommon(int i, int j) {
        for (int colour = 0; colour < colours; colour++) {
            if (freeToSend(colour, i) && freeToReceive(colour, j)) {
                connect(colour, i, j);
                return true;
            }
        }
        return false;
    }

    private void connect(int colour, int i, int j) {
        int spareSender = sender(colour, j);
        if (spareSender != NONE) {
            receiver[colour][spareSender] = NONE;
        }
        receiver[colour][i] = j;
        firm[colour][i] = true;
    }

    private void connectBySwapping(int i, int j) {
        List<Integer> shortest = null;
        int[] best = null;
        for (int a : lowestFree(colour -> freeToSend(colour, i))) {
            for (int b : lowestFree(colour -> freeToReceive(colour, j))) {
                List<Integer> path = path(a, b, j);
                if (shortest == null || path.size() / 2 < shortest.size() / 2) {
                    shortest = path;
                    best = new int[] {a, b};
                }
            }
        }
        swap(best[0], best[1], shortest);
        connect(best[0], i, j);
    }

    private int[] lowestFree(IntPredicate free) {
        return IntStream.range(0, colours).filter(free).limit(MOST_COLOURS).toArray();
    }

    /** Senders of firm connections from receiver j on, by turns in colours a and b, a first. */
    private List<Integer> path(int a, int b, int j) {
        List<Integer> senders = new ArrayList<>();
        int column = j;
        while (true) {
            if (freeToReceive(a, column)) {
                return senders;
            }
            int row = sender(a, column);
            senders.add(row);
            if (freeToSend(b, row)) {
                return senders;
            }
            senders.add(row);
            column = receiver[b][row];
        }
    }

    /** Ends all connections of a path, with their colours, then makes each again in the other colour. */
    private void swap(int a, int b, List<Integer> senders) {
        int[] receivers = new int[senders.size()];
        for (int step = 0; step < receivers.length; step++) {
            int colour = step % 2 == 0 ? a : b;
            receivers[step] = receiver[colour][senders.get(step)];
        }
        for (int step = 0; step < receivers.length; step++) {
            receiver[step % 2 == 0 ? a : b][senders.get(step)] = NONE;
        }
        for (int step = 0; step < receivers.length; step++) {
            connect(step % 2 == 0 ? b : a, senders.get(step), receivers[step]);
        }
    }

    /** What is left of either line, in even parts, and one more. */
    private int[][] spareLimits(int[][] wanted) {
        int[][] limits = new int[edges][edges];
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                int left = colours - Math.max(Matrices.row(wanted, i), Matrices.column(wanted, j));
                limits[i][j] = i == j ? 0 : 1 + (left + edges - 2) / (edges - 1);
            }
        }
        return limits;
    }

    private void trimSpare(int[][] limit) {
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                int beyond = count(i, j, false) - limit[i][j];
                for (int colour = colours - 1; colour >= 0 && beyond > 0; colour--) {
                    if (receiver[colour][i] == j && !firm[colour][i]) {
                        receiver[colour][i] = NONE;
                        beyond--;
                    }
                }
            }
        }
    }

    private void fillSpare(int[][] limit) {
        int[][] spare = new int[edges][edges];
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                spare[i][j] = count(i, j, false);
            }
        }
        for (int colour = 0; colour < colours; colour++) {
            for (int i = 0; i < edges; i++) {
                for (int k = 0; k < edges && receiver[colour][i] == NONE; k++) {
                    int j = (i + 1 + colour % (edges - 1) + k) % edges;
                    if (sender(colour, j) == NONE && spare[i][j] < limit[i][j]) {
                        receiver[colour][i] = j;
                        firm[colour][i] = false;
                        spare[i][j]++;
                    }
                }
            }
        }
    }
}
