// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slotwise.systems.ring.model.RingLink;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.RingTiming;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.wire.RingClass;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.RingReportHeader;
import org.slotwise.wire.WireConstants;

/** The station before a congested link: what it has reported, and the rate that the stations of its span are told. Rates are in byte/s. */
final class Head {
    /** Nobody is told less than this part of the link: who may add nothing could never show that it wants more. */
    private static final int LEAST_PART = 1024;
    /** A window's rate is up to one window old when it is reported. */
    private static final int WINDOWS = 2;

    private final RingNetwork network;
    private final int station;
    private final int ringlet;
    private final RingLink link;
    private final Spares spares;
    /** The report that is being collected: blocks of one time. */
    private final BitSet blocks = new BitSet();
    private long localNs;
    private long heardNs;
    private long[] collected;

    /** The last one that was complete, and what came of it. */
    private Optional<RingReportHeader> last = Optional.empty();
    private RingPhase phase = RingPhase.QUIET;
    private long[] rates;
    private long committed;
    private long rate = WireConstants.NO_LIMIT;
    private int reach;
    /** What was told since its span is limited without a break: the lower the earlier, as only the least counts. */
    private final Deque<Told> told = new ArrayDeque<>();

    /** What its span was told from a time on. */
    private static final class Told {
        private final long atNs;
        private final long rate;

        Told(long atNs, long rate) {
            this.atNs = atNs;
            this.rate = rate;
        }
    }

    /**
     * Takes a station that has a link out on a ringlet, and has begun to report.
     *
     * @param spares of the stations before its link, as far as they are known
     */
    Head(long nowNs, RingNetwork network, int station, int ringlet, Spares spares) {
        this.heardNs = nowNs;
        this.network = network;
        this.station = station;
        this.ringlet = ringlet;
        this.spares = spares;
        this.link = network.linkOut(station, ringlet).orElseThrow();
        this.collected = new long[network.stations().size()];
        this.rates = new long[network.stations().size()];
    }

    /** Takes a block, and returns whether it was the last one of a report; what is refused changes nothing. */
    boolean collect(long nowNs, Report report) throws Report.RefusedException {
        RingReportHeader header = report.header();
        int age = blocks.isEmpty() ? 1 : Long.compareUnsigned(header.localNs(), localNs);
        if (age < 0 || age == 0 && blocks.get(header.block())) {
            throw new Report.RefusedException(ReportRefusal.STALE);
        }
        if (age > 0) {
            blocks.clear();
            localNs = header.localNs();
        }
        blocks.set(header.block());
        System.arraycopy(report.rates(), 0, collected, report.firstSource(), report.rates().length);
        boolean isComplete = blocks.cardinality() == Report.blocks(network);
        heardNs = isComplete ? nowNs : heardNs;
        return isComplete;
    }

    /** Says what its span may add, by the report that is complete now. */
    void decide(long nowNs, Report report, List<StationSettings> settings) {
        note(report);
        estimateCommitted(settings);
        spares.fill(nowNs, rates, leastTold(nowNs), settings);
        long share = share(settings);
        // What the station itself would tell rises then; but who knows who is satisfied may know that there is more.
        rate = phase == RingPhase.CONGESTED ? share : Math.max(share, report.header().toldRate());
        if (phase == RingPhase.QUIET || rate >= link.capacity()) {
            rate = WireConstants.NO_LIMIT;
            told.clear();
        } else {
            remember(nowNs);
        }
    }

    /** Takes what the head tells its span itself, by the report that is complete now. */
    void watch(Report report) {
        note(report);
        long told = report.header().toldRate();
        rate = phase == RingPhase.QUIET || told >= link.capacity() ? WireConstants.NO_LIMIT : told;
    }

    private void note(Report report) {
        phase = report.phase();
        last = Optional.of(report.header());
        rates = collected.clone();
        reach = 0;
        for (int source = 0; source < rates.length; source++) {
            reach = rates[source] == 0 ? reach : Math.max(reach, network.hops(source, station, ringlet));
        }
    }

    private void remember(long nowNs) {
        long sinceNs = nowNs;
        while (!told.isEmpty() && told.peekLast().rate >= rate) {
            sinceNs = told.removeLast().atNs;
        }
        told.addLast(new Told(sinceNs, rate));
    }

    /** What the link carries besides fair traffic, but no more than may come; it is not known while a station has no rate yet. */
    private void estimateCommitted(List<StationSettings> settings) {
        long fair = 0;
        for (long each : rates) {
            if (each == WireConstants.NO_LIMIT) {
                return;
            }
            fair += each;
        }
        long most = 0;
        for (StationSettings each : settings) {
            Map<Integer, Long> cells = new TreeMap<>();
            each.rules().stream().filter(rule -> rule.trafficClass().code() >= RingClass.COMMITTED.code())
                    .forEach(rule -> cells.put(TrafficRule.cell(rule.port(), rule.trafficClass()), rule.rateBps() / Byte.SIZE));
            most += cells.values().stream().mapToLong(Long::longValue).sum();
        }
        committed = Math.min(most, Math.max(0, last.orElseThrow().linkRate() - fair));
    }

    /** The same by weight for all, but those that want less leave the rest. */
    private long share(List<StationSettings> settings) {
        List<Fill.Claim> satisfied = new ArrayList<>();
        double weights = 0;
        for (int source = 0; source < rates.length; source++) {
            int weight = settings.get(source).weight();
            if (rates[source] != 0 && spares.isSatisfied(source)) {
                satisfied.add(new Fill.Claim(rates[source], weight));
            } else if (rates[source] != 0) {
                weights += weight;
            }
        }
        if (weights == 0 && !satisfied.isEmpty()) {
            // Or nobody would be left to be told what there is.
            Fill.Claim largest = satisfied.stream().max(Comparator.comparingDouble(Fill.Claim::rate)).orElseThrow();
            satisfied.remove(largest);
            weights = largest.weight();
        }
        double level = weights == 0 ? link.capacity()
                : Fill.share(Math.max(0, network.target(link) - committed), weights, satisfied) / weights;
        return Math.max(1, Math.max(link.capacity() / LEAST_PART, (long) Math.min(level, link.capacity())));
    }

    /** The least that was told while what is reported now was measured, and had come to the stations; endless if that was nothing. */
    private double leastTold(long nowNs) {
        RingTiming timing = network.timing();
        long sinceNs = nowNs - WINDOWS * timing.windowNs() - timing.holdIntervals() * timing.intervalNs();
        // What was told last before then held at the beginning.
        while (told.size() > 1 && second().atNs <= sinceNs) {
            told.removeFirst();
        }
        return told.isEmpty() ? Double.POSITIVE_INFINITY : told.getFirst().rate;
    }

    private Told second() {
        return told.stream().skip(1).findFirst().orElseThrow();
    }

    int station() {
        return station;
    }

    int ringlet() {
        return ringlet;
    }

    /** When its last report was complete; when the first one began while none has been. */
    long heardNs() {
        return heardNs;
    }

    /** Whether its span is limited. */
    boolean isLimit() {
        return rate != WireConstants.NO_LIMIT;
    }

    /** What its span is told, by weight. */
    long rate() {
        return rate;
    }

    /** Hops to it from the farthest station that adds to its link. */
    int reach() {
        return reach;
    }

    /** What there is to see; empty before the first complete report. */
    Optional<Span> view() {
        return last.map(header -> new Span(station, ringlet, phase, isLimit(), rate, reach, header, rates.clone()));
    }
}
