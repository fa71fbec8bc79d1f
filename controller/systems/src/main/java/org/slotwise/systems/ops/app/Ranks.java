// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.BiPredicate;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsLink;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.wire.WireConstants;

/**
 * The next fibres of each switch to each edge, the best one first. The way by a neighbour costs the link and the neighbour's shortest way
 * that does not come back. Neighbours that are nearer than the switch itself come first, so that whoever follows first choices arrives;
 * then delay counts, then hops, then the neighbour's number, then the fibre's.
 */
final class Ranks {
    private static final long NO_WAY = Long.MAX_VALUE;

    private final OpsNetwork network;
    private final List<List<Hop>> hops = new ArrayList<>();
    /** By switch whose edges are the goal, and switch: to all of its edges other switches have the same ways. */
    private final List<List<List<Integer>>> choices = new ArrayList<>();
    private final boolean[] edgeIsLit;

    /** A fibre that leaves a switch. */
    private static final class Hop {
        private final int to;
        private final int fibre;
        private final long delayNs;

        Hop(int to, int fibre, long delayNs) {
            this.to = to;
            this.fibre = fibre;
            this.delayNs = delayNs;
        }
    }

    /** How far a switch is. */
    private static final class Distance implements Comparable<Distance> {
        private static final Distance NONE = new Distance(-1, NO_WAY, 0);
        private final int from;
        private final long delayNs;
        private final int hops;

        Distance(int from, long delayNs, int hops) {
            this.from = from;
            this.delayNs = delayNs;
            this.hops = hops;
        }

        Distance by(int neighbour, long linkNs) {
            return new Distance(neighbour, delayNs + linkNs, hops + 1);
        }

        @Override
        public int compareTo(Distance other) {
            int byDelay = Long.compare(delayNs, other.delayNs);
            return byDelay != 0 ? byDelay : Integer.compare(hops, other.hops);
        }
    }

    /** The way by a fibre. */
    private static final class Choice {
        private final Hop hop;
        private final boolean nearer;
        private final Distance way;

        Choice(Hop hop, boolean nearer, Distance way) {
            this.hop = hop;
            this.nearer = nearer;
            this.way = way;
        }
    }

    private static final Comparator<Choice> BEST_FIRST = Comparator.<Choice, Boolean>comparing(choice -> !choice.nearer)
            .thenComparing(choice -> choice.way).thenComparingInt(choice -> choice.hop.to).thenComparingInt(choice -> choice.hop.fibre);

    /** Takes the fibres that have light: asked by switch and number there, of edges' fibres, too. */
    Ranks(OpsNetwork network, BiPredicate<Integer, Integer> isDark, BiPredicate<OpsEdge, Integer> isDarkAtEdge) {
        this.network = network;
        int switches = network.switches().size();
        for (int number = 0; number < switches; number++) {
            hops.add(new ArrayList<>());
        }
        for (OpsLink link : network.links()) {
            if (!isDark.test(link.a(), link.fibreAtA()) && !isDark.test(link.b(), link.fibreAtB())) {
                hops.get(link.a()).add(new Hop(link.b(), link.fibreAtA(), link.delayNs()));
                hops.get(link.b()).add(new Hop(link.a(), link.fibreAtB(), link.delayNs()));
            }
        }
        this.edgeIsLit = new boolean[network.edges().size()];
        boolean[] isGoal = new boolean[switches];
        // Those without a switch are in nobody's tables.
        for (OpsEdge edge : switches == 0 ? List.<OpsEdge>of() : network.edges()) {
            edgeIsLit[edge.number()] = !isDark.test(edge.at(), edge.fibre()) && !isDarkAtEdge.test(edge, OpsNetwork.EDGE_FIBRE);
            isGoal[edge.at()] |= edgeIsLit[edge.number()];
        }
        for (int goal = 0; goal < switches; goal++) {
            choices.add(isGoal[goal] ? choices(goal) : Collections.nCopies(switches, List.of()));
        }
    }

    /** The next fibres from a switch to an edge, {@link WireConstants#FIBRE_CHOICES} at most, the best first; empty if there is no way. */
    List<Integer> fibres(int from, OpsEdge to) {
        if (!edgeIsLit[to.number()]) {
            return List.of();
        }
        return from == to.at() ? List.of(to.fibre()) : choices.get(to.at()).get(from);
    }

    /** Routes that another reckoning has otherwise at a switch. */
    int differences(Ranks other, int from) {
        return (int) network.edges().stream().filter(edge -> !fibres(from, edge).equals(other.fibres(from, edge))).count();
    }

    /** Of each switch, the fibres to one switch. */
    private List<List<Integer>> choices(int goal) {
        Distance[] distances = new Distance[hops.size()];
        Arrays.fill(distances, Distance.NONE);
        distances[goal] = new Distance(-1, 0, 0);
        PriorityQueue<Reached> open = new PriorityQueue<>();
        open.add(new Reached(goal, distances[goal]));
        spread(distances, open, null);
        List<List<Integer>> behind = behind(distances);
        List<List<Integer>> all = new ArrayList<>();
        for (int from = 0; from < hops.size(); from++) {
            all.add(from == goal || distances[from] == Distance.NONE ? List.of() : fibres(from, distances, behind));
        }
        return all;
    }

    private List<Integer> fibres(int from, Distance[] distances, List<List<Integer>> behind) {
        Distance[] around = around(from, distances, behind);
        List<Choice> found = new ArrayList<>();
        for (Hop hop : hops.get(from)) {
            if (around[hop.to] != Distance.NONE) {
                found.add(new Choice(hop, around[hop.to].compareTo(distances[from]) < 0, around[hop.to].by(hop.to, hop.delayNs)));
            }
        }
        found.sort(BEST_FIRST);
        List<Integer> best = new ArrayList<>();
        found.stream().limit(WireConstants.FIBRE_CHOICES).forEach(choice -> best.add(choice.hop.fibre));
        return List.copyOf(best);
    }

    /** Distances by ways that do not come through a switch. Only those of switches behind it, on whose ways it is, can be others. */
    private Distance[] around(int without, Distance[] distances, List<List<Integer>> behind) {
        Distance[] around = distances.clone();
        boolean[] isBehind = new boolean[hops.size()];
        List<Integer> moved = new ArrayList<>(behind.get(without));
        for (int i = 0; i < moved.size(); i++) {
            isBehind[moved.get(i)] = true;
            around[moved.get(i)] = Distance.NONE;
            moved.addAll(behind.get(moved.get(i)));
        }
        isBehind[without] = true;
        around[without] = Distance.NONE;
        PriorityQueue<Reached> open = new PriorityQueue<>();
        for (int each : moved) {
            for (Hop hop : hops.get(each)) {
                if (!isBehind[hop.to] && around[hop.to] != Distance.NONE) {
                    reach(around, open, each, around[hop.to].by(hop.to, hop.delayNs));
                }
            }
        }
        isBehind[without] = false;
        spread(around, open, isBehind);
        return around;
    }

    /** Switches by the neighbour through which their shortest way goes. */
    private List<List<Integer>> behind(Distance[] distances) {
        List<List<Integer>> behind = new ArrayList<>();
        for (int each = 0; each < hops.size(); each++) {
            behind.add(new ArrayList<>());
        }
        for (int each = 0; each < hops.size(); each++) {
            if (distances[each].from >= 0) {
                behind.get(distances[each].from).add(each);
            }
        }
        return behind;
    }

    private static final class Reached implements Comparable<Reached> {
        private final int at;
        private final Distance distance;

        Reached(int at, Distance distance) {
            this.at = at;
            this.distance = distance;
        }

        @Override
        public int compareTo(Reached other) {
            return distance.compareTo(other.distance);
        }
    }

    /** Goes on (Dijkstra) from what is open, to switches that are {@code within}, or to all. A link costs a hop, so no way is shorter than one before. */
    private void spread(Distance[] distances, PriorityQueue<Reached> open, boolean[] within) {
        while (!open.isEmpty()) {
            Reached next = open.remove();
            if (distances[next.at] == next.distance) {
                for (Hop hop : hops.get(next.at)) {
                    if (within == null || within[hop.to]) {
                        reach(distances, open, hop.to, next.distance.by(next.at, hop.delayNs));
                    }
                }
            }
        }
    }

    private static void reach(Distance[] distances, PriorityQueue<Reached> open, int at, Distance distance) {
        if (distance.compareTo(distances[at]) < 0) {
            distances[at] = distance;
            open.add(new Reached(at, distance));
        }
    }
}
