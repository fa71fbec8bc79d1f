// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.SplittableRandom;

/**
 * Parallel iterative matching (Anderson, Owicki, Saxe, Thacker, "High-Speed Switch Scheduling for Local-Area Networks",
 * ACM Transactions on Computer Systems 11(4), 1993): grants and accepts at random, here from a seed.
 */
final class PimMatcher extends IterativeMatcher {
    private final SplittableRandom random;
    private int[] found = {};

    PimMatcher(int iterations, long seed) {
        super(iterations);
        this.random = new SplittableRandom(seed);
    }

    @Override
    void begin(int edges) {
        if (found.length != edges) {
            found = new int[edges];
        }
    }

    @Override
    int grant(int receiver, int edges, Candidates senders) {
        return any(edges, senders);
    }

    @Override
    int accept(int sender, int edges, Candidates receivers) {
        return any(edges, receivers);
    }

    private int any(int edges, Candidates candidates) {
        int count = 0;
        for (int edge = 0; edge < edges; edge++) {
            if (candidates.contains(edge)) {
                found[count++] = edge;
            }
        }
        return count == 0 ? FrameSchedule.NONE : found[random.nextInt(count)];
    }

    @Override
    void accepted(int sender, int receiver, int edges, int iteration) {
        // Chance remembers nothing.
    }
}
