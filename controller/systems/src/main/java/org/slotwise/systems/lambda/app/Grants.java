// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slotwise.systems.lambda.model.Certificate;
import org.slotwise.systems.lambda.model.LambdaNetwork;
import org.slotwise.systems.lambda.model.LambdaSession;
import org.slotwise.systems.lambda.model.LambdaWeb;
import org.slotwise.systems.lambda.model.MaxMin;
import org.slotwise.systems.lambda.model.SlotRates;

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

    /** Of each session, what it may send at: where nodes are edges of a star, no more than its part of the slots of its pair. */
    private final double[] granted;

    /** Takes sessions between nodes that a way joins; the least rates fit ({@link #lacking}). */
    Grants(LambdaWeb web, Collection<Demand> demands) {
        this.web = web;
        this.demands = List.copyOf(demands);
        double[] least = least(web, this.demands);
        List<LambdaSession> sessions = new ArrayList<>();
        for (int session = 0; session < least.length; session++) {
            Demand demand = this.demands.get(session);
            sessions.add(demand.over(web.linksOf(demand.source(), demand.sink()).orElseThrow(), least[session]));
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
        this.granted = granted(least);
    }

    /**
     * The least rates of sessions, b/s, in their order. Where nodes are edges of a star, those of a pair are raised together to whole
     * slots: a part of a slot cannot be reserved.
     */
    private static double[] least(LambdaWeb web, List<Demand> demands) {
        double[] least = demands.stream().mapToDouble(Demand::leastBps).toArray();
        web.slots().ifPresent(of -> {
            Map<List<Integer>, Double> pairs = new HashMap<>();
            demands.forEach(each -> pairs.merge(pair(each), each.leastBps(), Double::sum));
            for (int session = 0; session < least.length; session++) {
                double together = pairs.get(pair(demands.get(session)));
                if (together > 0) {
                    least[session] *= Math.max(1, Math.ceil(together / of.slotBps() - SLOT_TOLERANCE)) * of.slotBps() / together;
                }
            }
        });
        return least;
    }

    private static List<Integer> pair(Demand demand) {
        return List.of(demand.source(), demand.sink());
    }

    /** What a pair's slots carry less than its sessions have is of what they have above their least rates, which are whole slots together. */
    private double[] granted(double[] least) {
        double[] all = Arrays.copyOf(rates, rates.length);
        web.slots().ifPresent(of -> {
            int[][] slots = slots(of);
            double[][] together = byPair(rates);
            double[][] promised = byPair(least);
            for (int session = 0; session < all.length; session++) {
                int source = demands.get(session).source();
                int sink = demands.get(session).sink();
                double above = together[source][sink] - promised[source][sink];
                double carried = slots[source][sink] * (double) of.slotBps() - promised[source][sink];
                all[session] = least[session] + (rates[session] - least[session]) * (carried < above ? Math.max(0, carried / above) : 1);
            }
        });
        for (int session = 0; session < all.length; session++) {
            all[session] = Math.min(all[session], demands.get(session).wantedBps().isPresent() ? demands.get(session).wantedBps().getAsLong() : Double.POSITIVE_INFINITY);
        }
        return all;
    }

    /** Why a session cannot be there beside others, which may have another of its name; empty if it can. */
    static Optional<String> lacking(LambdaWeb web, Collection<Demand> others, Demand demand) {
        Optional<List<Integer>> links = web.linksOf(demand.source(), demand.sink());
        if (links.isEmpty()) {
            return Optional.of("no path of lambdas from '" + web.nodes().get(demand.source()).name() + "' to '" + web.nodes().get(demand.sink()).name() + "'");
        }
        if (demand.leastBps() == 0) {
            return Optional.empty();
        }
        List<Demand> rest = others.stream().filter(other -> !other.session().equals(demand.session())).collect(Collectors.toList());
        double[] promised = promised(web, rest);
        rest.add(demand);
        double[] together = promised(web, rest);
        for (int link : links.get()) {
            double capacity = web.capacities().get(link);
            if (together[link] > capacity + TOLERANCE_BPS) {
                return Optional.of("the deadline requires " + Math.round(demand.leastBps()) + " b/s; link '" + web.linkNames().get(link)
                        + "' has " + Math.round(capacity - promised[link]) + " b/s unreserved");
            }
        }
        return Optional.empty();
    }

    /** What the least rates of sessions come to on each link, b/s. */
    private static double[] promised(LambdaWeb web, List<Demand> demands) {
        double[] promised = new double[web.capacities().size()];
        double[] least = least(web, demands);
        for (int session = 0; session < least.length; session++) {
            if (least[session] > 0) {
                for (int link : web.linksOf(demands.get(session).source(), demands.get(session).sink()).orElseThrow()) {
                    promised[link] += least[session];
                }
            }
        }
        return promised;
    }

    /** The sessions, in their order. */
    public List<Demand> demands() {
        return demands;
    }

    /** The max-min fair rate of a session, by its place, b/s. */
    public double rateBps(int session) {
        return rates[session];
    }

    /**
     * What a session may send at, b/s: its rate and, where nodes are edges of a star, no more than its part of the slots that are
     * reserved for its pair.
     */
    public double grantedBps(int session) {
        return granted[session];
    }

    /** What all of them are granted together, b/s. */
    public double sumBps() {
        return Arrays.stream(granted).sum();
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

    /** What the sessions of each (source, sink) have together. */
    private double[][] byPair(double[] each) {
        double[][] together = new double[web.nodes().size()][web.nodes().size()];
        for (int session = 0; session < each.length; session++) {
            together[demands.get(session).source()][demands.get(session).sink()] += each[session];
        }
        return together;
    }

    private int[][] slots(SlotRates of) {
        int nodes = web.nodes().size();
        double[][] exact = byPair(rates);
        int[][] slots = new int[nodes][nodes];
        int[] sending = new int[nodes];
        int[] receiving = new int[nodes];
        List<int[]> rest = new ArrayList<>();
        for (int i = 0; i < nodes; i++) {
            for (int j = 0; j < nodes; j++) {
                exact[i][j] /= of.slotBps();
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
