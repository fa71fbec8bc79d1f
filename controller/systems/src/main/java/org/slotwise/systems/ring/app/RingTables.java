// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.MeterCell;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.Host;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.RingTiming;
import org.slotwise.systems.ring.model.RingWays;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.wire.RingClass;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

/** The entries of {@code ring.p4}. Pure. */
final class RingTables {
    static final String PARAMS = "station_params";
    static final String RINGLET = "ringlet";
    static final String TIMING = "ring_timing";
    static final String ROUTE = "ipv4_route";
    static final String CLASS = "traffic_class";
    static final String WAY = "ring_way";
    static final String METER = "ingress_rate";
    static final List<String> ALL = List.of(PARAMS, RINGLET, TIMING, ROUTE, CLASS, WAY, METER);
    private static final int IPV4_BITS = 32;
    private static final long NS_PER_S = 1_000_000_000L;
    /** Rules of one table with ternary keys, which never overlap. */
    private static final int PRIORITY = 10;
    /** More than any port brings, in byte/s, and than a burst may be; both targets take them. */
    private static final long ANY_RATE = 1_000_000_000_000L;
    private static final long ANY_BURST = Integer.MAX_VALUE;

    private final RingNetwork network;

    RingTables(RingNetwork network) {
        this.network = network;
    }

    /** All entries that a station is to have. */
    List<TableEntry> entries(int station, StationSettings settings, RingMode mode, RingWays ways) {
        List<TableEntry> entries = new ArrayList<>();
        Station own = network.stations().get(station);
        entries.add(TableEntry.in(PARAMS).action("set_station").param("station", station).param("stations", network.stations().size())
                .param("mac", own.mac().value()).param("weight", settings.weight()).build());
        entries.add(timing());
        addRinglets(entries, station, mode);
        for (int other = 0; other < network.stations().size(); other++) {
            addRoutes(entries, station, other);
        }
        addClasses(entries, own, settings.rules());
        for (int other = 0; other < network.stations().size(); other++) {
            if (other != station) {
                TableEntry.Builder entry = TableEntry.in(WAY).exact("station", other).action("reach");
                ways.way(station, other).ifPresent(way ->
                        entries.add(entry.param("ringlet", way.ringlet()).param("hops", way.hops()).build()));
            }
        }
        return entries;
    }

    private TableEntry timing() {
        RingTiming timing = network.timing();
        return TableEntry.in(TIMING).action("set_timing")
                .param("interval_ns", timing.intervalNs()).param("intervals_q8", timing.intervalsQ8())
                .param("old_shift", timing.oldShift()).param("new_shift", timing.newShift())
                .param("window", timing.windowIntervals()).param("windows_q8", timing.windowsQ8())
                .param("bucket_bytes", timing.bucketBytes()).param("hol_timer_ns", timing.holTimerNs())
                .param("calm_intervals", timing.calmIntervals()).param("hold_intervals", timing.holdIntervals())
                .param("wait_intervals", timing.waitIntervals()).param("report_intervals", timing.reportIntervals())
                .param("watch_intervals", timing.watchIntervals()).build();
    }

    /** None where a half ring has no link: there is nothing to share. */
    private void addRinglets(List<TableEntry> entries, int station, RingMode mode) {
        for (int each = 0; each < WireConstants.RINGLETS; each++) {
            int ringlet = each;
            network.linkOut(station, ringlet).ifPresent(link -> entries.add(TableEntry.in(RINGLET).exact("ringlet", ringlet)
                    .action("set_ringlet").param("downstream", network.downstream(station, ringlet)).param("mode", mode.code())
                    .param("capacity", link.capacity()).param("target", network.target(link)).param("relief", network.relief(link)).build()));
        }
    }

    private void addRoutes(List<TableEntry> entries, int station, int other) {
        for (Host host : network.stations().get(other).hosts()) {
            TableEntry.Builder entry = TableEntry.in(ROUTE).match(Match.lpm("dst", host.ip().value(), IPV4_BITS));
            entries.add(other == station
                    ? entry.action("to_host").param("port", host.port()).param("mac", host.mac().value()).build()
                    : entry.action("to_station").param("station", other).build());
        }
    }

    /**
     * A host that marks its packets with a class that its port has no rate for has none of it: reserved ones are dropped, committed
     * ones are all excess. Every cell of a port with hosts is written, so that none keeps what an earlier controller wrote.
     */
    private void addClasses(List<TableEntry> entries, Station station, List<TrafficRule> rules) {
        Map<Integer, RingClass> classes = new TreeMap<>();
        Map<Integer, Long> rates = new TreeMap<>();
        for (TrafficRule rule : rules) {
            classes.put(rule.dscp(), rule.trafficClass());
            rates.put(TrafficRule.cell(rule.port(), rule.trafficClass()), Math.max(1, rule.rateBps() / Byte.SIZE));
        }
        classes.forEach((dscp, trafficClass) -> entries.add(TableEntry.in(CLASS).match(Match.ternary("dscp", dscp, TrafficRule.MAX_DSCP))
                .priority(PRIORITY).action("set_class").param("traffic_class", trafficClass.code()).build()));
        for (int port : station.hostPorts()) {
            for (RingClass trafficClass : List.of(RingClass.BEST_EFFORT, RingClass.COMMITTED, RingClass.RESERVED)) {
                int cell = TrafficRule.cell(port, trafficClass);
                entries.add(meter(cell, trafficClass, rates.get(cell)));
            }
        }
    }

    /** Byte/s of a class; null: none is said. */
    private TableEntry meter(int cell, RingClass trafficClass, Long rate) {
        if (rate == null) {
            long committed = trafficClass == RingClass.BEST_EFFORT ? ANY_RATE : 1;
            long burst = trafficClass == RingClass.BEST_EFFORT ? ANY_BURST : 1;
            boolean isOver = trafficClass == RingClass.RESERVED;
            return MeterCell.of(METER, cell, committed, burst, isOver ? committed : ANY_RATE, isOver ? burst : ANY_BURST);
        }
        long burst = Math.min(ANY_BURST, Math.max(network.timing().bucketBytes(), (long) ((double) rate * network.timing().windowNs() / NS_PER_S)));
        boolean isCommitted = trafficClass == RingClass.COMMITTED;
        return MeterCell.of(METER, cell, rate, burst, isCommitted ? ANY_RATE : rate, isCommitted ? ANY_BURST : burst);
    }
}
