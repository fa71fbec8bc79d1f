// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.Ownership;
import org.slotwise.control.topology.Topology;
import org.slotwise.systems.lambda.model.LambdaWeb;
import org.slotwise.systems.shared.model.SlotReserver;
import org.slotwise.systems.shared.model.SlotsReserved;

/**
 * The application of lambda networks: who wants to send what from where to where, and what each has of it, max-min fair over all links
 * (X. Wu, algorithm 1). It has no switches: hosts ask for their rates and pace by them, and where nodes are the edges of a slotted star
 * the star reserves their slots.
 */
public final class LambdaApp extends App<LambdaView> {
    /** Its name. */
    public static final String ID = "lambda";
    /** Most sessions. */
    public static final int MAX_SESSIONS = 4096;
    private static final long NS_PER_MS = 1_000_000;

    private final LambdaWeb web;
    private final Map<String, Demand> demands = new TreeMap<>();
    /** Empty if sessions have come, gone or changed since they were made. */
    private Optional<Grants> grants = Optional.empty();
    /** What the star was told last. */
    private int[][] reserved = {};
    private long refused;
    /** When sessions leave that are not asked for again, ns. */
    private final Map<String, Long> ends = new TreeMap<>();
    /** When the star is to be told. */
    private OptionalLong tellNs = OptionalLong.empty();

    /** Takes a network, and the sessions that are there from the beginning; throws IllegalArgumentException if one cannot be. */
    public LambdaApp(LambdaWeb web, List<Demand> sessions) {
        super(ID, new Topology.Builder().build(), Ownership.allOf(List.of()));
        this.web = web;
        for (Demand demand : sessions) {
            if (demands.containsKey(demand.session())) {
                throw new IllegalArgumentException("duplicate session '" + demand.session() + "'");
            }
            lacking(web, demands.values(), demand).ifPresent(reason -> {
                throw new IllegalArgumentException("session '" + demand.session() + "': " + reason);
            });
            demands.put(demand.session(), demand);
        }
        tellNs = web.slots().isPresent() && !sessions.isEmpty() ? OptionalLong.of(0) : OptionalLong.empty();
    }

    @Override
    public Set<String> orders() {
        return web.slots().isPresent() ? Set.of(SlotReserver.APP) : Set.of();
    }

    /** Why a session cannot be there beside those that are; empty if it can. */
    public static Optional<String> lacking(LambdaView view, Demand demand) {
        return lacking(view.web(), view.grants().demands(), demand);
    }

    private static Optional<String> lacking(LambdaWeb web, Collection<Demand> demands, Demand demand) {
        boolean isNew = demands.stream().noneMatch(other -> other.session().equals(demand.session()));
        return isNew && demands.size() >= MAX_SESSIONS ? Optional.of("too many sessions; expected at most " + MAX_SESSIONS)
                : Grants.lacking(web, demands, demand);
    }

    @Override
    public Optional<String> conflict(App<?> other) {
        return web.slots().flatMap(slots -> ((SlotReserver) other).cannotReserve(web.nodes().size(), slots.slots()));
    }

    @Override
    protected void handle(Event event) {
        if (event instanceof Event.DeadlineReached && web.slots().isPresent()) {
            expire();
            tellNs = OptionalLong.empty();
            tellStar();
        }
    }

    @Override
    protected void finish() {
        expire();
        if (grants.isEmpty() && web.slots().isPresent()) {
            // After all that happens at this time: many sessions may come at once.
            tellNs = OptionalLong.of(nowNs());
        }
    }

    /** Adds a session, or updates the one with this name. */
    public void put(Demand demand) {
        // Whoever checked it may have seen other sessions.
        if (lacking(web, demands.values(), demand).isPresent()) {
            refused++;
            return;
        }
        if (!demand.equals(demands.put(demand.session(), demand))) {
            grants = Optional.empty();
        }
        ends.remove(demand.session());
        demand.leaseMs().ifPresent(ms -> ends.put(demand.session(), nowNs() + ms * NS_PER_MS));
    }

    /** Removes a session; ignores an unknown one. */
    public void remove(String session) {
        ends.remove(session);
        if (demands.remove(session) != null) {
            grants = Optional.empty();
        }
    }

    private void expire() {
        for (Map.Entry<String, Long> end : List.copyOf(ends.entrySet())) {
            if (end.getValue() <= nowNs()) {
                remove(end.getKey());
                send(new Command.Notice(ID, "session_expired", "session '" + end.getKey() + "': lease expired, session removed"));
            }
        }
    }

    private void tellStar() {
        grants().slots().filter(slots -> !Arrays.deepEquals(slots, reserved)).ifPresent(slots -> {
            reserved = slots;
            send(new Command.ToApp(SlotReserver.APP, new SlotsReserved(slots)));
        });
    }

    private Grants grants() {
        if (grants.isEmpty()) {
            grants = Optional.of(new Grants(web, demands.values()));
        }
        return grants.get();
    }

    /** At once, where sessions have changed and the star does not know it; else when the first lease ends. */
    @Override
    public OptionalLong nextDeadlineNs() {
        return tellNs.isPresent() ? tellNs : ends.values().stream().mapToLong(Long::longValue).min();
    }

    @Override
    public boolean isConfigured() {
        return true;
    }

    @Override
    public LambdaView view() {
        return new LambdaView(web, grants(), refused);
    }
}
