// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ring;

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
        refused("threshold: must be above 0 and at most 1, got 0.0", () -> of(0, 0, TWO, List.of(FIRST)));
        refused("threshold: must be above 0 and at most 1, got NaN", () -> of(Double.NaN, 0.05, TWO, List.of(FIRST)));
        refused("relief: must be above 0 and below the threshold, got 0.5", () -> of(0.5, 0.5, TWO, List.of(FIRST)));
        refused("relief: must be above 0 and below the threshold, got NaN", () -> of(0.5, Double.NaN, TWO, List.of(FIRST)));
        refused("stations: must be 2 .. 255, got 1", () -> of(0.85, 0.05, List.of(TWO.get(0)), List.of(FIRST)));
        refused("stations[1].device_id: 3001 is used twice", () -> of(0.85, 0.05, List.of(TWO.get(0), TWO.get(0)), List.of(FIRST)));
        refused("links[1]: there is a link from 'node0' already", () -> of(0.85, 0.05, TWO, List.of(FIRST, FIRST)));
        refused("links[0].from: must be 0 .. 1, got 2", () -> of(0.85, 0.05, TWO, List.of(new RingLink(2, Rings.RATE_BPS, 0))));
        refused("links: all stations but one have a link to the next one; of 2 only 0 have", () -> of(0.85, 0.05, TWO, List.of()));
    }

    @Test
    void aWindowHasRoomInThirtyTwoBits() {
        RingTiming.Builder long3s = Rings.timing().interval(1_000_000, 3000);
        refused("links[0].rate_bps: in a window of 3000000000 ns a link carries less than 2^32 bytes, which 20000000000 bit/s are not",
                () -> new RingNetwork("r", RingMode.EXPLICIT, 0.85, 0.05, long3s.build(), TWO, List.of(new RingLink(0, 20_000_000_000L, 0))));
        refused("window_intervals: a window has at most 10000000000 ns, got 10001 intervals of 1000000 ns",
                () -> Rings.timing().interval(1_000_000, 10_001).build());
        refused("estimator.w2: must be a power of two, got 12", () -> Rings.timing().estimator(8, 12).build());
        refused("hold_intervals: must be 1 .. 60000, got 0", () -> Rings.timing().calmAndHold(1, 0).build());
    }

    @Test
    void whatWasToldHoldsUntilTheNextReport() {
        for (int report : new int[] {10, 11}) {
            refused("report_intervals: must be below hold_intervals, which is 10, or what was told is forgotten between two reports; got " + report,
                    () -> Rings.timing().calmAndHold(10, 10).waitAndReport(10, report).build());
        }
        assertEquals(9, Rings.timing().calmAndHold(10, 10).waitAndReport(10, 9).build().reportIntervals());
    }

    @Test
    void classesOfAStationGoTogether() {
        TrafficRule voice = new TrafficRule(1, 46, RingClass.RESERVED, 2_000_000);
        refused("stations[0].classes[1]: port 1 has a class for DSCP 46 already", () -> Rings.of(2).rule(voice).rule(voice).build());
        refused("stations[0].classes[0].port: there is no host at port 2",
                () -> Rings.of(2).rule(new TrafficRule(2, 46, RingClass.RESERVED, 2_000_000)).build());
        refused("stations[0].classes[1].rate_bps: port 1 has 2000000 bit/s for this class already; a class has one rate",
                () -> Rings.of(2).rule(voice).rule(new TrafficRule(1, 47, RingClass.RESERVED, 1_000_000)).build());
        refused("stations[0].classes[0].class: no packet is excess by itself: it is what is above a committed rate",
                () -> Rings.of(2).rule(new TrafficRule(1, 46, RingClass.EXCESS, 2_000_000)).build());
        refused("stations[0].classes[0].dscp: must be 0 .. 63, got 64",
                () -> Rings.of(2).rule(new TrafficRule(1, 64, RingClass.RESERVED, 2_000_000)).build());
    }

    @Test
    void linksOfTwoStationsAreTwo() {
        assertEquals(2, Rings.of(2).build().topology().links().size());
        assertEquals(1, Rings.of(2).without(1).build().topology().links().size());
    }
}
