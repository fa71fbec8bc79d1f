// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PriorityQueue;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;

/**
 * End systems, and the lambdas that join their sites; where there are none, only end systems are short of capacity. Every node has two
 * links, to send and to take, and every lambda is one: {@link #linksOf} says which a session crosses. Immutable and valid.
 */
public final class LambdaWeb {
    /** Fewest nodes. */
    public static final int MIN_NODES = 2;
    /** Most nodes. */
    public static final int MAX_NODES = 4096;
    /** Most nodes that are edges of a star. */
    public static final int MAX_EDGES = 1024;
    /** Most lambdas. */
    public static final int MAX_LAMBDAS = 4096;

    private final String name;
    private final List<LambdaNode> nodes;
    private final List<Lambda> lambdas;
    private final Optional<SlotRates> slots;
    private final Map<String, Integer> numbers = new LinkedHashMap<>();
    /** Of each site, the lambdas that end there, by the numbers of their links. */
    private final Map<String, Map<Integer, Lambda>> toward = new HashMap<>();
    /** Of each site that is a sink's, the link by which the way there begins, by site. */
    private final Map<String, Map<String, Integer>> ways = new HashMap<>();
    private final List<Double> capacities = new ArrayList<>();
    private final List<String> names = new ArrayList<>();

    /**
     * Throws {@link InvalidNetworkException} with the place and the reason if the parts do not fit together.
     *
     * @param slots if the nodes are the edges of a slotted star, in their order, what their rates are made of
     */
    public LambdaWeb(String name, List<LambdaNode> nodes, List<Lambda> lambdas, Optional<SlotRates> slots) {
        this.name = Objects.requireNonNull(name);
        this.nodes = List.copyOf(nodes);
        this.lambdas = List.copyOf(lambdas);
        this.slots = Objects.requireNonNull(slots);
        Ranges.check("nodes", nodes.size(), MIN_NODES, slots.isPresent() ? MAX_EDGES : MAX_NODES);
        Ranges.check("lambdas", lambdas.size(), 0, MAX_LAMBDAS);
        if (slots.isPresent() && !lambdas.isEmpty()) {
            throw new InvalidNetworkException("lambdas", "not allowed with 'slots': a star connects all its edges");
        }
        for (int i = 0; i < nodes.size(); i++) {
            LambdaNode node = nodes.get(i);
            if (numbers.putIfAbsent(node.name(), i) != null) {
                throw new InvalidNetworkException("nodes[" + i + "].name", "duplicate '" + node.name() + "'");
            }
            if (node.site().isPresent() == lambdas.isEmpty()) {
                throw new InvalidNetworkException("nodes[" + i + "]", lambdas.isEmpty() ? "'site' requires 'lambdas'"
                        : "missing 'site'; required with 'lambdas'");
            }
            addLink(node.name() + " up", node.upBps());
            addLink(node.name() + " down", node.downBps());
        }
        for (int i = 0; i < lambdas.size(); i++) {
            Lambda lambda = lambdas.get(i);
            if (lambda.from().equals(lambda.to())) {
                throw new InvalidNetworkException("lambdas[" + i + "].to", "source and destination are '" + lambda.from() + "'; expected two sites");
            }
            toward.computeIfAbsent(lambda.to(), any -> new LinkedHashMap<>())
                    .put(addLink(lambda.from() + " to " + lambda.to(), lambda.rateBps()), lambda);
        }
        for (LambdaNode node : nodes) {
            node.site().ifPresent(site -> ways.computeIfAbsent(site, this::waysTo));
        }
    }

    private int addLink(String link, double capacityBps) {
        names.add(link);
        capacities.add(capacityBps);
        return names.size() - 1;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** End systems. */
    public List<LambdaNode> nodes() {
        return nodes;
    }

    /** Light between sites. */
    public List<Lambda> lambdas() {
        return lambdas;
    }

    /** What rates are made of, if the nodes are edges of a star. */
    public Optional<SlotRates> slots() {
        return slots;
    }

    /** Number of a node; empty if there is none of that name. */
    public Optional<Integer> number(String node) {
        return Optional.ofNullable(numbers.get(node));
    }

    /** Capacities of the links, b/s. */
    public List<Double> capacities() {
        return Collections.unmodifiableList(capacities);
    }

    /** What links are called. */
    public List<String> linkNames() {
        return Collections.unmodifiableList(names);
    }

    /**
     * The links that a session crosses: its source's, the lambdas of the way with the least delay, of several such that with the fewest,
     * then that whose lambdas stand first, and its sink's. Empty if there is no way.
     */
    public Optional<List<Integer>> linksOf(int source, int sink) {
        List<Integer> links = new ArrayList<>();
        links.add(2 * source);
        if (!lambdas.isEmpty()) {
            String end = nodes.get(sink).site().orElseThrow();
            for (String at = nodes.get(source).site().orElseThrow(); !at.equals(end);) {
                Integer next = ways.get(end).get(at);
                if (next == null) {
                    return Optional.empty();
                }
                links.add(next);
                at = lambdas.get(next - 2 * nodes.size()).to();
            }
        }
        links.add(2 * sink + 1);
        return Optional.of(links);
    }

    private static final class Reached {
        private final String site;
        private final long delayNs;
        private final int lambdas;

        Reached(String site, long delayNs, int lambdas) {
            this.site = site;
            this.delayNs = delayNs;
            this.lambdas = lambdas;
        }

        int compare(Reached other) {
            return delayNs != other.delayNs ? Long.compare(delayNs, other.delayNs) : Integer.compare(lambdas, other.lambdas);
        }
    }

    /** The link by which the way to a site begins, by site (Dijkstra, from the end). */
    private Map<String, Integer> waysTo(String end) {
        Map<String, Integer> first = new HashMap<>();
        Map<String, Reached> reached = new HashMap<>();
        PriorityQueue<Reached> open = new PriorityQueue<>(Comparator.comparingLong((Reached each) -> each.delayNs).thenComparingInt(each -> each.lambdas));
        reached.put(end, new Reached(end, 0, 0));
        open.add(reached.get(end));
        while (!open.isEmpty()) {
            Reached next = open.remove();
            if (reached.get(next.site) != next) {
                continue;
            }
            toward.getOrDefault(next.site, Map.of()).forEach((link, lambda) -> {
                Reached by = new Reached(lambda.from(), next.delayNs + lambda.delayNs(), next.lambdas + 1);
                Reached other = reached.get(by.site);
                int order = other == null ? -1 : by.compare(other);
                if (order < 0) {
                    reached.put(by.site, by);
                    open.add(by);
                }
                if (order < 0 || order == 0 && first.containsKey(by.site) && link < first.get(by.site)) {
                    first.put(by.site, link);
                }
            });
        }
        return first;
    }
}
