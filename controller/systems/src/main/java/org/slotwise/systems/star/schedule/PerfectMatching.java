// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;

/** Finds perfect matchings of the entries that are not below a threshold, by augmenting paths from the last one. */
final class PerfectMatching {
    private final int edges;
    private final int[] receiver;
    private final int[] sender;
    private final boolean[] tried;
    private final int[] path;
    private final int[] nextColumn;

    PerfectMatching(int edges) {
        this.edges = edges;
        this.receiver = new int[edges];
        this.sender = new int[edges];
        this.tried = new boolean[edges];
        this.path = new int[edges];
        this.nextColumn = new int[edges];
        Arrays.fill(receiver, FrameSchedule.NONE);
        Arrays.fill(sender, FrameSchedule.NONE);
    }

    /** Whether there is one; {@link #receiver} then has it. */
    boolean find(int[][] matrix, int threshold) {
        for (int i = 0; i < edges; i++) {
            if (receiver[i] != FrameSchedule.NONE && matrix[i][receiver[i]] < threshold) {
                sender[receiver[i]] = FrameSchedule.NONE;
                receiver[i] = FrameSchedule.NONE;
            }
        }
        for (int i = 0; i < edges; i++) {
            if (receiver[i] == FrameSchedule.NONE && !augment(matrix, threshold, i)) {
                return false;
            }
        }
        return true;
    }

    /** The receiver of a sender in the matching found. */
    int receiver(int i) {
        return receiver[i];
    }

    /** Depth first, with a stack of its own: the deepest path has as many steps as there are edges. */
    private boolean augment(int[][] matrix, int threshold, int start) {
        Arrays.fill(tried, false);
        int depth = 0;
        path[0] = start;
        nextColumn[0] = 0;
        while (depth >= 0) {
            int i = path[depth];
            int j = nextColumn[depth]++;
            if (j == edges) {
                depth--;
            } else if (!tried[j] && matrix[i][j] >= threshold) {
                tried[j] = true;
                if (sender[j] == FrameSchedule.NONE) {
                    shift(depth);
                    return true;
                }
                path[++depth] = sender[j];
                nextColumn[depth] = 0;
            }
        }
        return false;
    }

    /** Each sender on the path takes the column that it tried last. */
    private void shift(int depth) {
        for (int step = 0; step <= depth; step++) {
            int column = nextColumn[step] - 1;
            receiver[path[step]] = column;
            sender[column] = path[step];
        }
    }
}
