// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.wire.RingMode;

/** Rings of stations 0, 1, ... with a host each at port 1, and links of equal delay. */
public final class Rings {
    /** Bit/s of a link if nothing else is said. */
    public static final long RATE_BPS = 150_000_000L;
    public static final int HOST_PORT = 1;

    private final long[] ratesBps;
    private final int[] weights;
    private final List<TrafficRule> rules = new ArrayList<>();
    private RingMode mode = RingMode.EXPLICIT;
    private double threshold = 0.85;
    private int bucketBytes = 3000;
    private int holdIntervals = 10;
    private int missing = -1;
    private int watchIntervals;

    private Rings(long[] ratesBps) {
        this.ratesBps = ratesBps;
        this.weights = new int[ratesBps.length];
        Arrays.fill(weights, 1);
    }

    /** So many stations. */
    public static Rings of(int stations) {
        long[] rates = new long[stations];
        Arrays.fill(rates, RATE_BPS);
        return new Rings(rates);
    }

    /** A station for each link, which have these rates, bit/s. */
    public static Rings ofLinks(long... ratesBps) {
        return new Rings(ratesBps);
    }

    /** Without the link from a station to the next one. */
    public Rings without(int link) {
        missing = link;
        return this;
    }

    /** How fairness is told. */
    public Rings mode(RingMode told) {
        mode = told;
        return this;
    }

    public Rings threshold(double part) {
        threshold = part;
        return this;
    }

    public Rings bucketBytes(int bytes) {
        bucketBytes = bytes;
        return this;
    }

    /** Reports in all modes. */
    public Rings watchIntervals(int intervals) {
        watchIntervals = intervals;
        return this;
    }

    public Rings holdIntervals(int intervals) {
        holdIntervals = intervals;
        return this;
    }

    public Rings weight(int station, int weight) {
        weights[station] = weight;
        return this;
    }

    /** A class of station 0. */
    public Rings rule(TrafficRule rule) {
        rules.add(rule);
        return this;
    }

    /** Device of a station. */
    public static DeviceId device(int station) {
        return DeviceId.of(3001 + station);
    }

    public static Ipv4Address ip(int station) {
        return Ipv4Address.parse("10.0." + (station + 1) + ".1");
    }

    public static RingTiming.Builder timing() {
        return new RingTiming.Builder().interval(100_000, 100).estimator(8, 8).bucketBytes(3000).holTimerNs(1_000_000)
                .calmAndHold(10, 10).waitAndReport(10, 1);
    }

    public Station station(int number) {
        return new Station("node" + number, device(number), MacAddress.parse(String.format("02:fd:00:00:00:%02x", number)),
                weights[number], List.of(new Host("h" + number, ip(number),
                        MacAddress.parse(String.format("02:00:00:00:00:%02x", number + 1)), HOST_PORT)),
                number == 0 ? rules : List.of());
    }

    /** The ring. */
    public RingNetwork build() {
        List<Station> stations = new ArrayList<>();
        List<RingLink> links = new ArrayList<>();
        for (int each = 0; each < ratesBps.length; each++) {
            stations.add(station(each));
            if (each != missing) {
                links.add(new RingLink(each, ratesBps[each], 10_000));
            }
        }
        RingTiming.Builder timing = timing().bucketBytes(bucketBytes).calmAndHold(10, holdIntervals);
        if (watchIntervals > 0) {
            timing.watchIntervals(watchIntervals);
        }
        return new RingNetwork("ring", mode, threshold, 0.05, timing.build(), stations, links);
    }
}
