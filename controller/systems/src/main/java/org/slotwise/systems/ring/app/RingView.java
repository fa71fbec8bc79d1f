// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slotwise.control.SwitchStatus;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.systems.ring.model.Way;
import org.slotwise.wire.RingMode;

/** What a {@link FairnessApp} shows of itself. Immutable. */
public final class RingView {
    private final RingNetwork network;
    private final boolean configured;
    private final RingMode mode;
    private final List<StationView> stations;
    private final List<Span> spans;
    private final Counts counts;

    /** One station. */
    public static final class StationView extends SwitchStatus {
        private final StationSettings settings;
        private final SortedMap<Integer, Way> ways;

        StationView(SwitchStatus status, StationSettings settings, SortedMap<Integer, Way> ways) {
            super(status);
            this.settings = settings;
            this.ways = Collections.unmodifiableSortedMap(new TreeMap<>(ways));
        }

        /** Weight and classes. */
        public StationSettings settings() {
            return settings;
        }

        /** Ways to other stations, by number; none to one that cannot be reached. */
        public SortedMap<Integer, Way> ways() {
            return ways;
        }
    }

    /** How often something has happened since the start. */
    public static final class Counts {
        private final long reroutes;
        private final long writeFailures;
        private final long reports;
        private final long messages;
        private final Map<ReportRefusal, Long> refused;

        Counts(long reroutes, long writeFailures, long reports, long messages, Map<ReportRefusal, Long> refused) {
            this.reroutes = reroutes;
            this.writeFailures = writeFailures;
            this.reports = reports;
            this.messages = messages;
            this.refused = Collections.unmodifiableMap(new EnumMap<>(refused));
        }

        /** Ways have changed since links came or went. */
        public long reroutes() {
            return reroutes;
        }

        /** A station refused a batch. */
        public long writeFailures() {
            return writeFailures;
        }

        /** Reports were taken. */
        public long reports() {
            return reports;
        }

        /** Stations were told what they may add. */
        public long messages() {
            return messages;
        }

        /** Packets were no reports that could be taken, by reason; all reasons are there. */
        public Map<ReportRefusal, Long> refused() {
            return refused;
        }
    }

    RingView(RingNetwork network, boolean configured, RingMode mode, List<StationView> stations, List<Span> spans, Counts counts) {
        this.network = network;
        this.configured = configured;
        this.mode = mode;
        this.stations = List.copyOf(stations);
        this.spans = List.copyOf(spans);
        this.counts = counts;
    }

    /** The ring. */
    public RingNetwork network() {
        return network;
    }

    /** Whether each station has had its tables, at least once. */
    public boolean isConfigured() {
        return configured;
    }

    /** How fairness is told. */
    public RingMode mode() {
        return mode;
    }

    /** The stations, in the order of ringlet 0. */
    public List<StationView> stations() {
        return stations;
    }

    /** Links that are congested or recover, as far as stations report: in mode CONTROLLER, or if they are watched. */
    public List<Span> spans() {
        return spans;
    }

    /** How often something has happened. */
    public Counts counts() {
        return counts;
    }
}
