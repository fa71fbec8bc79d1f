// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.ArrayList;
import java.util.List;

/**
 * Links and the sessions that cross them, by number. An end node is a link: what it sends as a source, or takes as a sink, is at most
 * its capacity; links inside a network are no different. Immutable.
 */
public final class LambdaNetwork {
    private final List<Double> capacities;
    private final List<LambdaSession> sessions;
    private final List<List<Integer>> crossing = new ArrayList<>();

    /** Throws IllegalArgumentException for a capacity that is not finite and above 0, or a session over a link that there is not. */
    public LambdaNetwork(List<Double> capacities, List<LambdaSession> sessions) {
        for (int link = 0; link < capacities.size(); link++) {
            double capacity = capacities.get(link);
            if (!(capacity > 0 && capacity < Double.POSITIVE_INFINITY)) {
                throw new IllegalArgumentException("link " + link + ": expected a finite capacity above 0, got " + capacity);
            }
            crossing.add(new ArrayList<>());
        }
        for (int session = 0; session < sessions.size(); session++) {
            for (int link : sessions.get(session).links()) {
                if (link < 0 || link >= capacities.size()) {
                    throw new IllegalArgumentException(
                            "session " + session + ": unknown link " + link + "; expected 0 .. " + (capacities.size() - 1));
                }
                crossing.get(link).add(session);
            }
        }
        this.capacities = List.copyOf(capacities);
        this.sessions = List.copyOf(sessions);
    }

    /** How many links there are. */
    public int links() {
        return capacities.size();
    }

    /** Capacity of a link. */
    public double capacity(int link) {
        return capacities.get(link);
    }

    /** The sessions. */
    public List<LambdaSession> sessions() {
        return sessions;
    }

    /** The sessions that cross a link, in their order. */
    public List<Integer> crossing(int link) {
        return crossing.get(link);
    }
}
