// SPDX-License-Identifier: Apache-2.0
package org.slotwise.lambda;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Max-min fair rates by algorithm 1 of X. Wu's dissertation, with weights: the link with the least level, which is what is left of it by
 * weight of its open sessions, settles them, unless an open session wants less; then that one gets what it wants. Levels never fall, so
 * a heap finds the least ones. The same as {@code max_min} of {@code engine/crates/lambda}, by whose examples it is tested.
 */
public final class MaxMin {
    private final LambdaNetwork network;
    private final double[] rates;
    private final boolean[] settled;
    private final double[] left;
    /** Of each link's open sessions: their weights together, and their number, as a sum taken off one by one need not end at 0. */
    private final double[] weights;
    private final int[] open;
    private int rounds;

    /** A link at the level that it had when this was made. */
    private static final class Level {
        private final double level;
        private final int link;

        Level(double level, int link) {
            this.level = level;
            this.link = link;
        }
    }

    /** Solves a network; there is one solution only (proposition 1). */
    public MaxMin(LambdaNetwork network) {
        this.network = network;
        this.rates = new double[network.sessions().size()];
        this.settled = new boolean[rates.length];
        this.left = new double[network.links()];
        this.weights = new double[network.links()];
        this.open = new int[network.links()];
        solve();
    }

    private void solve() {
        List<LambdaSession> sessions = network.sessions();
        PriorityQueue<Level> levels = new PriorityQueue<>(
                Comparator.<Level>comparingDouble(one -> one.level).thenComparingInt(one -> one.link));
        for (int link = 0; link < open.length; link++) {
            left[link] = network.capacity(link);
            weights[link] = network.crossing(link).stream().mapToDouble(each -> sessions.get(each).weight()).sum();
            open[link] = network.crossing(link).size();
            if (open[link] > 0) {
                levels.add(new Level(level(link), link));
            }
        }
        Deque<Integer> byDemand = IntStream.range(0, rates.length).boxed()
                .filter(each -> sessions.get(each).wanted() < Double.POSITIVE_INFINITY)
                .sorted(Comparator.comparingDouble(this::wantedLevel))
                .collect(Collectors.toCollection(ArrayDeque::new));
        while (!levels.isEmpty()) {
            Level least = levels.peek();
            if (open[least.link] == 0) {
                levels.remove();
                continue;
            }
            double now = level(least.link);
            if (now > least.level) {
                levels.remove();
                levels.add(new Level(now, least.link));
                continue;
            }
            while (!byDemand.isEmpty() && settled[byDemand.peek()]) {
                byDemand.remove();
            }
            rounds++;
            if (!byDemand.isEmpty() && wantedLevel(byDemand.peek()) <= least.level) {
                int session = byDemand.remove();
                settle(session, sessions.get(session).wanted());
            } else {
                network.crossing(least.link).stream().filter(each -> !settled[each])
                        .forEach(each -> settle(each, least.level * sessions.get(each).weight()));
            }
        }
    }

    private double wantedLevel(int session) {
        return network.sessions().get(session).wanted() / network.sessions().get(session).weight();
    }

    /** Rate by weight of a link's open sessions if they share what is left: b(v) of equation V.2. */
    private double level(int link) {
        return Math.max(0, left[link] / weights[link]);
    }

    private void settle(int session, double rate) {
        rates[session] = rate;
        settled[session] = true;
        for (int link : network.sessions().get(session).links()) {
            left[link] -= rate;
            weights[link] -= network.sessions().get(session).weight();
            open[link]--;
        }
    }

    /** Of each session, in the unit of the capacities. */
    public double[] rates() {
        return Arrays.copyOf(rates, rates.length);
    }

    /** Rounds of algorithm 1, at most as many as sessions. */
    int rounds() {
        return rounds;
    }
}
