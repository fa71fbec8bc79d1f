// SPDX-License-Identifier: Apache-2.0
package org.slotwise.lambda;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** What sessions have: max-min fair rates over the links of their network, and, where nodes are edges of a star, slots. Immutable. */
public final class Grants {
    /** Two rates this close, b/s, are the same. */
    public static final double TOLERANCE_BPS = 1e-3;
    /** That much below a whole slot is that slot: rates are sums and quotients of others. */
    private static final double SLOT_TOLERANCE = 1e-6;

    private final LambdaWeb web;
    private final List<Demand> demands;
    private final LambdaNetwork network;
    private final double[] rates;
    private final double[] loads;
    /** Of each link, the most that a session has on it by its weight. */
    private final double[] most;

    /** Takes sessions between nodes that a way joins; the least rates fit ({@link #lacking}). */
    Grants(LambdaWeb web, Collection<Demand> demands) {
        this.web = web;
        this.demands = List.copyOf(demands);
        List<LambdaSession> sessions = new ArrayList<>();
        for (Demand demand : this.demands) {
            sessions.add(demand.over(web.linksOf(demand.source(), demand.sink()).orElseThrow()));
        }
        this.network = new LambdaNetwork(web.capacities(), sessions);
        this.rates = new MaxMin(network).rates();
        this.loads = new double[network.links()];
        this.most = new double[network.links()];
        for (int session = 0; session < rates.length; session++) {
            for (int link : sessions.get(session).links()) {
                loads[link] += rates[session];
                most[link] = Math.max(most[link], rates[session] / sessions.get(session).weight());
            }
        }
    }

    /** Why a session cannot be there beside others, which may have another of its name; empty if it can. */
    static Optional<String> lacking(LambdaWeb web, Collection<Demand> others, Demand demand) {
        Optional<List<Integer>> links = web.linksOf(demand.source(), demand.sink());
        if (links.isEmpty()) {
            return Optional.of("no lambdas lead from '" + web.nodes().get(demand.source()).name() + "' to '" + web.nodes().get(demand.sink()).name() + "'");
        }
        if (demand.leastBps() == 0) {
            return Optional.empty();
        }
        double[] promised = new double[web.capacities().size()];
        for (Demand other : others) {
            if (other.leastBps() > 0 && !other.session().equals(demand.session())) {
                web.linksOf(other.source(), other.sink()).orElseThrow().forEach(link -> promised[link] += other.leastBps());
            }
        }
        for (int link : links.get()) {
            double left = web.capacities().get(link) - promised[link];
            if (demand.leastBps() > left) {
                return Optional.of("by its deadline it needs " + Math.round(demand.leastBps()) + " b/s, and of '" + web.linkNames().get(link)
                        + "' " + Math.round(left) + " are not promised to others");
            }
        }
        return Optional.empty();
    }

    /** The sessions, in their order. */
    public List<Demand> demands() {
        return demands;
    }

    /** What a session has, by its place, b/s. */
    public double rateBps(int session) {
        return rates[session];
    }

    /** What all of them have together, b/s. */
    public double sumBps() {
        return Arrays.stream(rates).sum();
    }

    /** What crosses a link, b/s. */
    public double loadBps(int link) {
        return loads[link];
    }

    /** Sessions that cross a link. */
    public int sessionsOver(int link) {
        return network.crossing(link).size();
    }

    /** The full link because of which a session does not have all it wants; empty if it has. */
    public Optional<String> limitedBy(int session) {
        LambdaSession of = network.sessions().get(session);
        if (rates[session] >= of.wanted() - TOLERANCE_BPS) {
            return Optional.empty();
        }
        return of.links().stream()
                .filter(link -> loads[link] >= network.capacity(link) - Certificate.slack(network.capacity(link), TOLERANCE_BPS))
                .min(Comparator.comparingDouble(link -> most[link]))
                .map(link -> web.linkNames().get(link));
    }

    /** What the rates lack of being max-min fair, in words; empty, as it always should be, if nothing. */
    public Optional<String> refuted() {
        return Certificate.refute(network, rates, TOLERANCE_BPS);
    }

    /**
     * Slots of each frame by (source, sink), less than one off what the sessions of the pair have together, and so few that all can be
     * placed without collision: what is left of rows and columns goes to whom rounding down took the most from. Empty where nodes are
     * no edges of a star.
     */
    public Optional<int[][]> slots() {
        return web.slots().map(this::slots);
    }

    private int[][] slots(SlotRates of) {
        int nodes = web.nodes().size();
        double[][] exact = new double[nodes][nodes];
        for (int session = 0; session < rates.length; session++) {
            exact[demands.get(session).source()][demands.get(session).sink()] += rates[session] / of.slotBps();
        }
        int[][] slots = new int[nodes][nodes];
        int[] sending = new int[nodes];
        int[] receiving = new int[nodes];
        List<int[]> rest = new ArrayList<>();
        for (int i = 0; i < nodes; i++) {
            for (int j = 0; j < nodes; j++) {
                slots[i][j] = (int) Math.floor(exact[i][j] + SLOT_TOLERANCE);
                sending[i] += slots[i][j];
                receiving[j] += slots[i][j];
                if (exact[i][j] - slots[i][j] > SLOT_TOLERANCE) {
                    rest.add(new int[] {i, j});
                }
            }
        }
        rest.sort(Comparator.comparingDouble(pair -> slots[pair[0]][pair[1]] - exact[pair[0]][pair[1]]));
        for (int[] pair : rest) {
            if (sending[pair[0]] < of.slots() && receiving[pair[1]] < of.slots()) {
                slots[pair[0]][pair[1]]++;
                sending[pair[0]]++;
                receiving[pair[1]]++;
            }
        }
        return slots;
    }
}
