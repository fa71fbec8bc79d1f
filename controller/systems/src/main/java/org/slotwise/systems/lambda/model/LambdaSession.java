// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;

/** A session: what it crosses and what it wants. Immutable. */
public final class LambdaSession {
    /** Bounds of a weight: within them what is left of a link's weights is exact enough to divide by. */
    public static final double MIN_WEIGHT = 0.001;
    /** The largest weight. */
    public static final double MAX_WEIGHT = 1000;

    private final List<Integer> links;
    private final OptionalDouble demand;
    private final double weight;
    private final double least;

    /** A session that is content with any rate; throws IllegalArgumentException for what is out of its range. */
    public LambdaSession(List<Integer> links, OptionalDouble demand, double weight) {
        this(links, demand, weight, 0);
    }

    /**
     * Throws IllegalArgumentException for what is out of its range.
     *
     * @param links numbers of links, each once, at least one: the source's first, the sink's last
     * @param demand most that it can use, in the unit of the capacities, finite and at least 0; empty is greedy
     * @param weight its part of a full link beside those of others, {@link #MIN_WEIGHT} .. {@link #MAX_WEIGHT}
     * @param least what it has even where its part is less, in the unit of the capacities: at least 0, at most the demand. The least
     *     rates of those that cross a link must not be more than its capacity together
     */
    public LambdaSession(List<Integer> links, OptionalDouble demand, double weight, double least) {
        if (links.isEmpty() || new HashSet<>(links).size() < links.size()) {
            throw new IllegalArgumentException("links: expected one or more different links, got " + links);
        }
        if (demand.isPresent() && !(demand.getAsDouble() >= 0 && demand.getAsDouble() < Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException("demand: expected a finite rate of at least 0, got " + demand.getAsDouble());
        }
        if (!(weight >= MIN_WEIGHT && weight <= MAX_WEIGHT)) {
            throw new IllegalArgumentException("weight: expected " + MIN_WEIGHT + " .. " + MAX_WEIGHT + ", got " + weight);
        }
        if (!(least >= 0 && least < Double.POSITIVE_INFINITY && least <= demand.orElse(Double.POSITIVE_INFINITY))) {
            throw new IllegalArgumentException("minimum rate: expected a finite rate of at least 0 and at most the demand, got " + least);
        }
        this.links = List.copyOf(links);
        this.demand = demand;
        this.weight = weight;
        this.least = least;
    }

    /** The links that it crosses, in order. */
    public List<Integer> links() {
        return links;
    }

    /** Most that it can use; infinite if it is greedy. */
    public double wanted() {
        return demand.orElse(Double.POSITIVE_INFINITY);
    }

    /** Its part beside others. */
    public double weight() {
        return weight;
    }

    /** What it has even where its part is less. */
    public double least() {
        return least;
    }
}
