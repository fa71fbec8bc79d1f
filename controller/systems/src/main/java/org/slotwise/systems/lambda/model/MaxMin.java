// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.function.IntPredicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Max-min fair rates by algorithm 1 of X. Wu's dissertation, with weights: the link with the least level, which is what is left of it by
 * weight of its open sessions, settles them, unless an open session wants less; then that one gets what it wants. The level that is
 * settled never falls, so a heap finds the least ones. The same as {@code max_min} of {@code engine/crates/lambda}, by whose examples it
 * is tested, and more: a session with a least rate has that until the level passes it, and is open from then on.
 */
public final class MaxMin {
    private final LambdaNetwork network;
    private final double[] rates;
    private final boolean[] settled;
    /** Sessions that have their least rate so far, which is more than their part. */
    private final boolean[] held;
    /** Of each link's capacity, less the rates of the settled and the held. */
    private final double[] left;
    /** Of each link's open sessions: their weights together, and their number, as a sum taken off one by one need not end at 0. */
    private final double[] weights;
    private final int[] open;
    /** Of each link, what {@link #weights} were when they were last added up one by one. */
    private final double[] summed;
    private final PriorityQueue<Level> levels = new PriorityQueue<>(
            Comparator.<Level>comparingDouble(one -> one.level).thenComparingInt(one -> one.link));
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
        this.held = new boolean[rates.length];
        this.left = new double[network.links()];
        this.weights = new double[network.links()];
        this.open = new int[network.links()];
        this.summed = new double[network.links()];
        solve();
    }

    private void solve() {
        List<LambdaSession> sessions = network.sessions();
        for (int link = 0; link < open.length; link++) {
            left[link] = network.capacity(link);
        }
        for (int session = 0; session < rates.length; session++) {
            held[session] = sessions.get(session).least() > 0;
            for (int link : sessions.get(session).links()) {
                if (held[session]) {
                    left[link] -= sessions.get(session).least();
                } else {
                    weights[link] += sessions.get(session).weight();
                    open[link]++;
                }
            }
        }
        for (int link = 0; link < open.length; link++) {
            summed[link] = weights[link];
            note(link);
        }
        Deque<Integer> byDemand = byLevel(each -> sessions.get(each).wanted() < Double.POSITIVE_INFINITY, this::wantedLevel);
        Deque<Integer> byLeast = byLevel(each -> held[each], this::leastLevel);
        while (true) {
            OptionalInt fullest = fullest();
            double full = fullest.isPresent() ? level(fullest.getAsInt()) : Double.POSITIVE_INFINITY;
            double wanted = first(byDemand).map(this::wantedLevel).orElse(Double.POSITIVE_INFINITY);
            double released = first(byLeast).map(this::leastLevel).orElse(Double.POSITIVE_INFINITY);
            if (released <= Math.min(full, wanted) && released < Double.POSITIVE_INFINITY) {
                release(byLeast.remove());
            } else if (fullest.isEmpty()) {
                return;
            } else if (wanted <= full) {
                rounds++;
                int session = byDemand.remove();
                settle(session, sessions.get(session).wanted());
            } else {
                rounds++;
                network.crossing(fullest.getAsInt()).stream().filter(each -> !settled[each])
                        .forEach(each -> settle(each, held[each] ? sessions.get(each).least() : full * sessions.get(each).weight()));
            }
        }
    }

    private Deque<Integer> byLevel(IntPredicate which, ToDoubleFunction<Integer> level) {
        return IntStream.range(0, rates.length).filter(which).boxed().sorted(Comparator.comparingDouble(level))
                .collect(Collectors.toCollection(ArrayDeque::new));
    }

    private Optional<Integer> first(Deque<Integer> sessions) {
        while (!sessions.isEmpty() && settled[sessions.peek()]) {
            sessions.remove();
        }
        return Optional.ofNullable(sessions.peek());
    }

    /** The link with open sessions that has the least level; empty if no session is open. */
    private OptionalInt fullest() {
        while (!levels.isEmpty()) {
            Level least = levels.peek();
            if (open[least.link] > 0 && level(least.link) == least.level) {
                return OptionalInt.of(least.link);
            }
            levels.remove();
            note(least.link);
        }
        return OptionalInt.empty();
    }

    private void note(int link) {
        if (open[link] > 0) {
            levels.add(new Level(level(link), link));
        }
    }

    /** The level has come to what a session has at the least: its links' levels fall, as it will take more. */
    private void release(int session) {
        held[session] = false;
        for (int link : network.sessions().get(session).links()) {
            left[link] += network.sessions().get(session).least();
            weights[link] += network.sessions().get(session).weight();
            summed[link] = Math.max(summed[link], weights[link]);
            open[link]++;
            note(link);
        }
    }

    private double leastLevel(int session) {
        return network.sessions().get(session).least() / network.sessions().get(session).weight();
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
        if (held[session]) {
            return;
        }
        for (int link : network.sessions().get(session).links()) {
            left[link] -= rate;
            weights[link] -= network.sessions().get(session).weight();
            open[link]--;
            if (weights[link] < summed[link] / 2) {
                sumUp(link);
            }
        }
    }

    /** What heavy sessions leave of a sum from which they were taken one by one is not exact enough for the light ones. */
    private void sumUp(int link) {
        weights[link] = network.crossing(link).stream().filter(each -> !settled[each] && !held[each])
                .mapToDouble(each -> network.sessions().get(each).weight()).sum();
        summed[link] = weights[link];
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
