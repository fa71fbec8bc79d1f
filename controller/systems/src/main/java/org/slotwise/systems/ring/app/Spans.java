// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.RingTiming;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

/**
 * The congested links of a ring as far as their heads have reported, and in mode CONTROLLER what the stations before them may add. What
 * is not reported again for as long as stations keep what they were told, or in another mode for several reports, is forgotten, but for
 * who is known to want little. Pure.
 */
final class Spans {
    /** Reports that may be missing before a link that is only watched is forgotten. */
    private static final long WATCHED_REPORTS = 3;

    private final RingNetwork network;
    private boolean decides;
    private long holdNs;
    /** By ringlet and station. */
    private final SortedMap<Integer, Head> heads = new TreeMap<>();
    /** By the same; also of heads that are forgotten. */
    private final Map<Integer, Spares> spares = new HashMap<>();

    Spans(RingNetwork network) {
        this.network = network;
        begin(network.mode());
    }

    /** Forgets all, and goes on as the mode says. */
    void begin(RingMode mode) {
        heads.clear();
        spares.clear();
        decides = mode == RingMode.CONTROLLER;
        RingTiming timing = network.timing();
        holdNs = (decides ? timing.holdIntervals() : WATCHED_REPORTS * timing.watchIntervals()) * timing.intervalNs();
    }

    /**
     * Takes a report, and returns the stations that are to be told; none while blocks of it are missing, or if stations tell each other.
     *
     * @param settings of each station: their weights count
     */
    List<Integer> onReport(long nowNs, Report report, List<StationSettings> settings) throws Report.RefusedException {
        int key = report.ringlet() * WireConstants.MAX_STATIONS + report.station();
        Head head = heads.get(key);
        if (head == null) {
            head = new Head(nowNs, network, report.station(), report.ringlet(),
                    spares.computeIfAbsent(key, each -> new Spares(network.timing(), network.stations().size())));
        }
        boolean isComplete = head.collect(nowNs, report);
        heads.put(key, head);
        List<Integer> members = new ArrayList<>();
        if (isComplete && !decides) {
            head.watch(report);
        } else if (isComplete) {
            head.decide(nowNs, report, settings);
            for (int hops = 0; hops <= head.reach(); hops++) {
                members.add(network.upstream(head.station(), head.ringlet(), hops));
            }
        }
        return members;
    }

    /** What a station may add to a ringlet, the nearest link first. */
    List<FairnessMessage.Limit> limits(int station, int ringlet) {
        List<FairnessMessage.Limit> limits = new ArrayList<>();
        for (Head head : heads.values()) {
            int hops = network.hops(station, head.station(), ringlet);
            if (head.ringlet() == ringlet && head.isLimit() && hops <= head.reach()) {
                limits.add(new FairnessMessage.Limit(head.station(), hops, head.rate()));
            }
        }
        limits.sort(Comparator.comparingInt(FairnessMessage.Limit::hops));
        return FairnessMessage.list(limits);
    }

    /** When the first head is forgotten, if it does not report again. */
    OptionalLong nextExpiryNs() {
        return heads.values().stream().mapToLong(head -> head.heardNs() + holdNs).min();
    }

    /** Forgets heads that have not reported for too long. */
    void expire(long nowNs) {
        heads.values().removeIf(head -> head.heardNs() + holdNs <= nowNs);
    }

    /** Forgets what a station has reported: it may begin anew. */
    void forget(int station) {
        heads.values().removeIf(head -> head.station() == station);
        spares.keySet().removeIf(key -> key % WireConstants.MAX_STATIONS == station);
    }

    /** Those that are known. */
    List<Span> view() {
        List<Span> spans = new ArrayList<>();
        heads.values().forEach(head -> head.view().ifPresent(spans::add));
        return spans;
    }
}
