// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.wire.WireConstants;

/** What edges make of packets: classes, trains, how many of them wait for an output, and what is paced. Immutable and valid. */
public final class OpsTraffic {
    /** Longest train that is put together, in bytes of IP. */
    public static final int MAX_SIZE_BYTES = 8_000_000;
    /** Most trains that may be bounded to wait for an output. */
    public static final int MAX_TRAINS = WireConstants.NO_TRAIN_LIMIT - 1;

    /** Which packets share a train. */
    public enum Scheme {
        /** None. */
        NONE,
        /** Those for one edge. */
        FULL,
        /** Those for one edge that are of one class. */
        CLASS,
        /** Those of one flow, or else as by class. */
        FLOW;

        /** The scheme with this name, in lower case; throws IllegalArgumentException for any other. */
        public static Scheme parse(String name) {
            for (Scheme scheme : values()) {
                if (scheme.toString().equals(name)) {
                    return scheme;
                }
            }
            throw new IllegalArgumentException("expected none, full, class or flow, got '" + name + "'");
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final SortedMap<Integer, TrafficClass> classes = new TreeMap<>();
    private final List<TrafficClass> ordered;
    private final Scheme scheme;
    private final int sizeBytes;
    private final Set<String> aggregating;
    private final OptionalInt trains;
    private final boolean fair;
    private final boolean paced;
    private final boolean satisfied;
    private final Optional<OpsShare> share;

    /** Collects the parts; without any each packet is a train, and nothing is counted or paced. */
    public static final class Builder {
        private List<TrafficClass> classes = List.of();
        private Scheme scheme = Scheme.NONE;
        private int sizeBytes;
        private Set<String> aggregating = Set.of();
        private OptionalInt trains = OptionalInt.empty();
        private boolean fair;
        private boolean paced;
        private boolean satisfied;
        private OpsShare share;

        /** Classes; of several that match, the first one counts. */
        public Builder classes(List<TrafficClass> all) {
            classes = List.copyOf(all);
            return this;
        }

        /** Trains of at most so many bytes of IP, at the edges of these names, or at all if there are none. */
        public Builder aggregation(Scheme by, int bytes, Set<String> edges) {
            scheme = Objects.requireNonNull(by);
            sizeBytes = bytes;
            aggregating = Set.copyOf(edges);
            return this;
        }

        /** How many may wait for an output, if that is bounded, and whether classes share it by weight. */
        public Builder ingress(OptionalInt mayWait, boolean byWeight) {
            trains = mayWait;
            fair = byWeight;
            return this;
        }

        /** What goes from one edge to another and is of one class is paced, and may say that it needs no more. */
        public Builder macroflows(boolean tellSatisfied) {
            paced = true;
            satisfied = tellSatisfied;
            return this;
        }

        /** What is paced is so at rates that edges grant each other; agents have no say. */
        public Builder share(OpsShare by) {
            paced = true;
            share = Objects.requireNonNull(by);
            return this;
        }

        /** All of it; throws {@link InvalidNetworkException} with the place and the reason if it does not fit together. */
        public OpsTraffic build() {
            return new OpsTraffic(this);
        }
    }

    private OpsTraffic(Builder from) {
        this.ordered = from.classes;
        this.scheme = from.scheme;
        this.sizeBytes = scheme == Scheme.NONE ? 0 : (int) Ranges.check("aggregation.size_bytes", from.sizeBytes, 1, MAX_SIZE_BYTES);
        this.aggregating = new TreeSet<>(from.aggregating);
        this.trains = from.trains;
        trains.ifPresent(count -> Ranges.check("ingress.trains", count, 0, MAX_TRAINS));
        this.fair = from.fair;
        this.paced = from.paced;
        this.satisfied = from.satisfied;
        this.share = Optional.ofNullable(from.share);
        if (satisfied && share.isPresent()) {
            throw new InvalidNetworkException("macroflows.satisfied", "expected false with 'share', which has no XCP agents");
        }
        for (int i = 0; i < ordered.size(); i++) {
            if (classes.put(ordered.get(i).number(), ordered.get(i)) != null) {
                throw new InvalidNetworkException("classes[" + i + "].class", "duplicate " + ordered.get(i).number());
            }
        }
        classes.computeIfAbsent(0, plain -> new TrafficClass(plain, OptionalInt.empty(), false, 0, TrafficClass.PLAIN_WEIGHT));
        if (fair && scheme == Scheme.NONE) {
            throw new InvalidNetworkException("ingress.fair", "'fair' requires burst assembly ('aggregation')");
        }
        if (paced && (trains.isPresent() || fair)) {
            throw new InvalidNetworkException("ingress", "not allowed with 'macroflows', which are paced at the source");
        }
    }

    /** Classes by number; there is always one with number 0. */
    public SortedMap<Integer, TrafficClass> classes() {
        return new TreeMap<>(classes);
    }

    /** Those that were listed, in the order in which they match. */
    public List<TrafficClass> ordered() {
        return ordered;
    }

    /** Queues of an edge for each other one: as many as the largest number of a class, and one. */
    public int classCount() {
        return classes.lastKey() + 1;
    }

    /** Which packets share a train, at the edges that do it. */
    public Scheme scheme() {
        return scheme;
    }

    /** Which packets share a train at an edge. */
    public Scheme schemeOf(OpsEdge edge) {
        return aggregating.isEmpty() || aggregating.contains(edge.name()) ? scheme : Scheme.NONE;
    }

    /** Longest train, in bytes of IP. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Names of the edges that put packets together; empty: all do. */
    public Set<String> aggregating() {
        return new TreeSet<>(aggregating);
    }

    /** How many trains may wait for an output. */
    public OptionalInt trains() {
        return trains;
    }

    /** Whether classes share an output by weight, at the edges that put packets together. */
    public boolean isFair() {
        return fair;
    }

    /** Whether edges pace what they send. */
    public boolean isPaced() {
        return paced;
    }

    /** Whether what is paced says that it needs no more. */
    public boolean tellsSatisfied() {
        return satisfied;
    }

    /** How edges share what they have among what is paced; without it agents of outputs tell its rates. */
    public Optional<OpsShare> share() {
        return share;
    }
}
