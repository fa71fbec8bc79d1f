// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.List;
import java.util.Optional;

/** Whether rates are max-min fair, without solving anything. */
public final class Certificate {
    /** Rates are sums of thousands, so of a link's capacity such a part is nothing. */
    private static final double OF_CAPACITY = 1e-11;

    private Certificate() {
    }

    /** By how much, in the unit of the rates, what crosses a link may differ from its capacity and fill it. */
    public static double slack(double capacity, double tolerance) {
        return tolerance + OF_CAPACITY * capacity;
    }

    /**
     * What rates lack, in words; empty if no link carries too much, nobody has more than it wants (definition 1) or less than its least rate, and
     * each session has all it wants, or a full link on which no other has more by its weight (definition 2), but for those that have no
     * more than their least rates: that is so if, and only if, they are max-min fair.
     *
     * @param tolerance in the unit of the rates; for what is compared on a link 10^-11 of its capacity is added
     */
    public static Optional<String> refute(LambdaNetwork network, double[] rates, double tolerance) {
        List<LambdaSession> sessions = network.sessions();
        if (rates.length != sessions.size()) {
            return Optional.of(rates.length + " rates; expected " + sessions.size());
        }
        for (int session = 0; session < rates.length; session++) {
            double wanted = sessions.get(session).wanted();
            if (!(rates[session] >= 0 && rates[session] < Double.POSITIVE_INFINITY)) {
                return Optional.of("session " + session + ": expected a finite rate of at least 0, got " + rates[session]);
            }
            if (rates[session] > wanted + tolerance) {
                return Optional.of("session " + session + ": rate " + rates[session] + " is above its demand " + wanted);
            }
            if (rates[session] < sessions.get(session).least() - tolerance) {
                return Optional.of("session " + session + ": rate " + rates[session] + " is below its minimum rate "
                        + sessions.get(session).least());
            }
        }
        // Of each link, the most that a session has on it by its weight, other than by its least rate; endless if there is room.
        double[] most = new double[network.links()];
        double[] slack = new double[network.links()];
        for (int link = 0; link < most.length; link++) {
            double load = network.crossing(link).stream().mapToDouble(each -> rates[each]).sum();
            double within = slack(network.capacity(link), tolerance);
            slack[link] = within;
            if (load > network.capacity(link) + within) {
                return Optional.of("link " + link + ": load " + load + " is above its capacity " + network.capacity(link));
            }
            most[link] = load < network.capacity(link) - within ? Double.POSITIVE_INFINITY
                    : network.crossing(link).stream().filter(each -> sessions.get(each).least() == 0 || rates[each] > sessions.get(each).least() + within)
                            .mapToDouble(each -> rates[each] / sessions.get(each).weight()).max().orElse(0);
        }
        for (int session = 0; session < rates.length; session++) {
            LambdaSession of = sessions.get(session);
            double rate = rates[session];
            if (rate < of.wanted() - tolerance
                    && of.links().stream().noneMatch(link -> rate >= most[link] * of.weight() - slack[link])) {
                return Optional.of("session " + session + ": rate " + rates[session]
                        + " is below its demand without a bottleneck link");
            }
        }
        return Optional.empty();
    }
}
