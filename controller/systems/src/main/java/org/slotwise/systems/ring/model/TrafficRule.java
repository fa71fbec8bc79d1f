// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.Limits;
import org.slotwise.wire.RingClass;

/** What a host's packets with one DSCP are, and how much of that class may come from the host's port. Immutable. */
public final class TrafficRule {
    /** Largest DSCP. */
    public static final int MAX_DSCP = 63;
    private static final int CLASSES = 4;

    private final int port;
    private final int dscp;
    private final RingClass trafficClass;
    private final long rateBps;

    /** Takes the access port, the DSCP, a class that a host may ask for, and the rate, bit/s; {@link #check} says what fits a station. */
    public TrafficRule(int port, int dscp, RingClass trafficClass, long rateBps) {
        this.port = port;
        this.dscp = dscp;
        this.trafficClass = Objects.requireNonNull(trafficClass);
        this.rateBps = rateBps;
    }

    /** Returns the meter cell of a port and class. */
    public static int cell(int port, RingClass trafficClass) {
        return CLASSES * port + trafficClass.code();
    }

    /**
     * Throws {@link InvalidNetworkException}, with {@code where} before the place, unless the rules go together at a station with hosts
     * at these ports: its table knows a packet's class by DSCP alone, and its meter has one rate a port and class.
     */
    public static void check(String where, List<TrafficRule> rules, Set<Integer> ports) {
        Ranges.check(where, rules.size(), Limits.MIN_TRAFFIC_RULES, Limits.MAX_TRAFFIC_RULES);
        Map<Integer, RingClass> classes = new HashMap<>();
        Map<Integer, Long> rates = new HashMap<>();
        Set<List<Integer>> known = new HashSet<>();
        for (int i = 0; i < rules.size(); i++) {
            TrafficRule rule = rules.get(i);
            String place = where + "[" + i + "]";
            Ranges.check(place + ".dscp", rule.dscp, 0, MAX_DSCP);
            Ranges.check(place + ".rate_bps", rule.rateBps, Limits.MIN_CLASS_RATE_BPS, Limits.MAX_CLASS_RATE_BPS);
            if (!ports.contains(rule.port)) {
                throw new InvalidNetworkException(place + ".port", "no host at port " + rule.port);
            }
            if (rule.trafficClass == RingClass.EXCESS) {
                throw new InvalidNetworkException(place + ".class", "'excess' cannot be assigned: it is traffic above a committed rate");
            }
            if (!known.add(List.of(rule.port, rule.dscp))) {
                throw new InvalidNetworkException(place, "duplicate class for DSCP " + rule.dscp + " at port " + rule.port);
            }
            RingClass other = classes.putIfAbsent(rule.dscp, rule.trafficClass);
            if (other != null && other != rule.trafficClass) {
                throw new InvalidNetworkException(place + ".class", "DSCP " + rule.dscp + " has another class at another port; expected one class per station");
            }
            Long rate = rates.putIfAbsent(cell(rule.port, rule.trafficClass), rule.rateBps);
            if (rate != null && rate != rule.rateBps) {
                throw new InvalidNetworkException(place + ".rate_bps",
                        "expected " + rate + ", the rate of this class at port " + rule.port + ", got " + rule.rateBps);
            }
        }
    }

    /** The access port. */
    public int port() {
        return port;
    }

    /** The DSCP. */
    public int dscp() {
        return dscp;
    }

    /** The class. */
    public RingClass trafficClass() {
        return trafficClass;
    }

    /** Bit/s of this class that may come by this port. */
    public long rateBps() {
        return rateBps;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof TrafficRule && ((TrafficRule) o).port == port && ((TrafficRule) o).dscp == dscp
                && ((TrafficRule) o).trafficClass == trafficClass && ((TrafficRule) o).rateBps == rateBps;
    }

    @Override
    public int hashCode() {
        return Objects.hash(port, dscp, trafficClass, rateBps);
    }
}
