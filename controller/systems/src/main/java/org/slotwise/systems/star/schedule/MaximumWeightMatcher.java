// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;

/**
 * Maximum-weight matching (McKeown, Mekkittikul, Anantharam, Walrand, "Achieving 100% Throughput in an Input-Queued
 * Switch", IEEE Transactions on Communications 47(8), 1999). The weight of a pair is what it has left times the slots since
 * it was last served, so that a small demand that does not grow is served in the end. Solved by shortest augmenting
 * paths (the Hungarian method), O(n^3) a slot.
 */
final class MaximumWeightMatcher implements SlotBySlotScheduler.Matcher {
    /** Largest factors of a weight, so that sums of weights stay far from overflow. */
    private static final int MAX_LEFT = 1 << 16;
    private static final int MAX_AGE = 1 << 20;

    private int edges;
    private int[][] age = {};
    private long[] senderPrice;
    private long[] receiverPrice;
    /** By receiver, from 1: its sender, from 1; 0 is none. */
    private int[] senderOf;
    private int[] previous;
    private long[] slack;
    private boolean[] visited;

    @Override
    public void match(int[][] left, int[] receivers) {
        prepare(left.length);
        for (int sender = 1; sender <= edges; sender++) {
            augment(sender, left);
        }
        for (int j = 1; j <= edges; j++) {
            if (weight(left, senderOf[j] - 1, j - 1) > 0) {
                receivers[senderOf[j] - 1] = j - 1;
            }
        }
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                age[i][j] = left[i][j] <= 0 || receivers[i] == j ? 0 : Math.min(MAX_AGE, age[i][j] + 1);
            }
        }
    }

    private void prepare(int count) {
        if (age.length != count) {
            edges = count;
            age = new int[count][count];
            senderPrice = new long[count + 1];
            receiverPrice = new long[count + 1];
            senderOf = new int[count + 1];
            previous = new int[count + 1];
            slack = new long[count + 1];
            visited = new boolean[count + 1];
        }
        Arrays.fill(senderPrice, 0);
        Arrays.fill(receiverPrice, 0);
        Arrays.fill(senderOf, 0);
    }

    private long weight(int[][] left, int i, int j) {
        return left[i][j] <= 0 ? 0 : (long) Math.min(MAX_LEFT, left[i][j]) * (1 + age[i][j]);
    }

    /** Adds one sender to the matching along the path that costs the least weight. */
    private void augment(int sender, int[][] left) {
        Arrays.fill(slack, Long.MAX_VALUE);
        Arrays.fill(visited, false);
        senderOf[0] = sender;
        int at = 0;
        do {
            visited[at] = true;
            int i = senderOf[at];
            long least = Long.MAX_VALUE;
            int next = 0;
            for (int j = 1; j <= edges; j++) {
                if (visited[j]) {
                    continue;
                }
                long cost = -weight(left, i - 1, j - 1) - senderPrice[i] - receiverPrice[j];
                if (cost < slack[j]) {
                    slack[j] = cost;
                    previous[j] = at;
                }
                if (slack[j] < least) {
                    least = slack[j];
                    next = j;
                }
            }
            for (int j = 0; j <= edges; j++) {
                if (visited[j]) {
                    senderPrice[senderOf[j]] += least;
                    receiverPrice[j] -= least;
                } else {
                    slack[j] -= least;
                }
            }
            at = next;
        } while (senderOf[at] != 0);
        while (at != 0) {
            senderOf[at] = senderOf[previous[at]];
            at = previous[at];
        }
    }
}
