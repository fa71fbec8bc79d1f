// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.wire.RingClass;
import org.slotwise.wire.RingMode;

class RingNetworkTest {
    private static void refused(String reason, Runnable making) {
        assertEquals(reason, assertThrows(InvalidNetworkException.class, making::run).getMessage());
    }

    private static RingNetwork of(double threshold, double relief, List<Station> stations, List<RingLink> links) {
        return new RingNetwork("r", RingMode.EXPLICIT, threshold, relief, Rings.timing().build(), stations, links);
    }

    private static final List<Station> TWO = List.of(Rings.of(2).station(0), Rings.of(2).station(1));
    private static final RingLink FIRST = new RingLink(0, Rings.RATE_BPS, 0);

    @Test
    void whatDoesNotFitTogetherIsRefusedWithThePlace() {
        refused("threshold: expected a value above 0 and at most 1, got 0.0", () -> of(0, 0, TWO, List.of(FIRST)));
        refused("threshold: expected a value above 0 and at most 1, got NaN", () -> of(Double.NaN, 0.05, TWO, List.of(FIRST)));
        refused("relief: expected a value above 0 and below the threshold, got 0.5", () -> of(0.5, 0.5, TWO, List.of(FIRST)));
        refused("relief: expected a value above 0 and below the threshold, got NaN", () -> of(0.5, Double.NaN, TWO, List.of(FIRST)));
        refused("stations: expected 2 .. 255, got 1", () -> of(0.85, 0.05, List.of(TWO.get(0)), List.of(FIRST)));
        refused("stations[1].device_id: duplicate 3001", () -> of(0.85, 0.05, List.of(TWO.get(0), TWO.get(0)), List.of(FIRST)));
        refused("links[1]: duplicate link from 'node0'", () -> of(0.85, 0.05, TWO, List.of(FIRST, FIRST)));
        refused("links[0].from: expected 0 .. 1, got 2", () -> of(0.85, 0.05, TWO, List.of(new RingLink(2, Rings.RATE_BPS, 0))));
        refused("links: expected 1 or 2 links for 2 stations, got 0", () -> of(0.85, 0.05, TWO, List.of()));
    }

    @Test
    void aWindowHasRoomInThirtyTwoBits() {
        RingTiming.Builder long3s = Rings.timing().interval(1_000_000, 3000);
        refused("links[0].rate_bps: expected less than 2^32 bytes per window of 3000000000 ns, got 20000000000 bit/s",
                () -> new RingNetwork("r", RingMode.EXPLICIT, 0.85, 0.05, long3s.build(), TWO, List.of(new RingLink(0, 20_000_000_000L, 0))));
        refused("window_intervals: expected a window of at most 10000000000 ns, got 10001 intervals of 1000000 ns",
                () -> Rings.timing().interval(1_000_000, 10_001).build());
        refused("estimator.w2: expected a power of two, got 12", () -> Rings.timing().estimator(8, 12).build());
        refused("hold_intervals: expected 1 .. 60000, got 0", () -> Rings.timing().calmAndHold(1, 0).build());
    }

    @Test
    void whatWasToldHoldsUntilTheNextReport() {
        for (int report : new int[] {10, 11}) {
            refused("report_intervals: expected less than 'hold_intervals', 10, so that advertised rates outlive a report interval, got " + report,
                    () -> Rings.timing().calmAndHold(10, 10).waitAndReport(10, report).build());
        }
        assertEquals(9, Rings.timing().calmAndHold(10, 10).waitAndReport(10, 9).build().reportIntervals());
    }

    @Test
    void classesOfAStationGoTogether() {
        TrafficRule voice = new TrafficRule(1, 46, RingClass.RESERVED, 2_000_000);
        refused("stations[0].classes[1]: duplicate class for DSCP 46 at port 1", () -> Rings.of(2).rule(voice).rule(voice).build());
        refused("stations[0].classes[0].port: no host at port 2",
                () -> Rings.of(2).rule(new TrafficRule(2, 46, RingClass.RESERVED, 2_000_000)).build());
        refused("stations[0].classes[1].rate_bps: expected 2000000, the rate of this class at port 1, got 1000000",
                () -> Rings.of(2).rule(voice).rule(new TrafficRule(1, 47, RingClass.RESERVED, 1_000_000)).build());
        refused("stations[0].classes[0].class: 'excess' cannot be assigned: it is traffic above a committed rate",
                () -> Rings.of(2).rule(new TrafficRule(1, 46, RingClass.EXCESS, 2_000_000)).build());
        refused("stations[0].classes[0].dscp: expected 0 .. 63, got 64",
                () -> Rings.of(2).rule(new TrafficRule(1, 64, RingClass.RESERVED, 2_000_000)).build());
    }

    @Test
    void linksOfTwoStationsAreTwo() {
        assertEquals(2, Rings.of(2).build().topology().links().size());
        assertEquals(1, Rings.of(2).without(1).build().topology().links().size());
    }
}
