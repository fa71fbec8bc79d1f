// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slotwise.rest.system.AccessHosts;
import org.slotwise.rest.system.Ports;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;
import org.slotwise.systems.ring.model.RingLink;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.RingTiming;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.wire.Limits;
import org.slotwise.wire.RingClass;
import org.slotwise.wire.RingMode;

/** A packet ring in the form of {@code schema/network.schema.json}, and the views of what its application shows. */
public final class RingCodec {
    private static final String CLASSES = "classes";
    /** Classes that a host may ask for. */
    static final RingClass[] HOST_CLASSES =
            Arrays.stream(RingClass.values()).filter(one -> one != RingClass.EXCESS).toArray(RingClass[]::new);
    private static final String WATCH = "watch_intervals";
    /** Weight of a station. */
    static final Shape<Integer> WEIGHT = Shape.integer("weight", Limits.MIN_RING_WEIGHT, Limits.MAX_RING_WEIGHT);
    /** Distribution of fair rates. */
    static final Shape<RingMode> MODE = Shape.choice("mode", RingMode.values());
    /** Classes of a station's traffic. */
    static final Shape<List<TrafficRule>> RULES = Shape.<List<TrafficRule>>of(RingCodec::rules,
            (rules, node) -> node.set(CLASSES, RingViews.RULES.write(rules)), CLASSES).field(CLASSES, RingViews.RULES.schema());

    private final String where;

    private RingCodec(String where) {
        this.where = where;
    }

    /** Reads a ring; {@code where} is its place in a larger document, or empty. */
    public static RingNetwork decode(String where, JsonNode value) throws InvalidJsonException {
        try {
            return new RingCodec(where).network(value);
        } catch (InvalidNetworkException e) {
            throw InvalidJsonException.within(where, e);
        }
    }

    private RingNetwork network(JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "name", "mode", "threshold", "relief", "interval_ns", "window_intervals",
                "estimator", "bucket_bytes", "hol_timer_ns", "calm_intervals", "hold_intervals", "wait_intervals", "report_intervals",
                WATCH, "stations", "links");
        List<Station> stations = fields.list("stations", RingCodec::station);
        return new RingNetwork(fields.name("name"), MODE.read(fields), fields.part("threshold"), fields.part("relief"), timing(fields),
                // Of too few or too many the ring says so first: links are about those that there may be.
                stations, isRing(stations) ? links(fields, stations) : List.of());
    }

    private static boolean isRing(List<Station> stations) {
        return stations.size() >= Limits.MIN_RING_STATIONS && stations.size() <= Limits.MAX_RING_STATIONS;
    }

    private static RingTiming timing(JsonFields fields) throws InvalidJsonException {
        JsonFields estimator = JsonFields.of(fields.place("estimator"), fields.required("estimator"), "w1", "w2");
        RingTiming.Builder builder = new RingTiming.Builder()
                .interval(fields.integer("interval_ns", Limits.MIN_RING_INTERVAL_NS, Limits.MAX_RING_INTERVAL_NS),
                        (int) fields.integer("window_intervals", Limits.MIN_RING_WINDOW_INTERVALS, Limits.MAX_RING_WINDOW_INTERVALS))
                .estimator(weight(estimator, "w1"), weight(estimator, "w2"))
                .bucketBytes((int) fields.integer("bucket_bytes", Limits.MIN_RING_BUCKET_BYTES, Limits.MAX_RING_BUCKET_BYTES))
                .holTimerNs(fields.integer("hol_timer_ns", Limits.MIN_RING_HOL_TIMER_NS, Limits.MAX_RING_HOL_TIMER_NS))
                .calmAndHold(intervals(fields, "calm_intervals"), intervals(fields, "hold_intervals"))
                .waitAndReport(intervals(fields, "wait_intervals"), intervals(fields, "report_intervals"));
        if (fields.optional(WATCH).isPresent()) {
            builder.watchIntervals(intervals(fields, WATCH));
        }
        return builder.build();
    }

    private static int weight(JsonFields estimator, String name) throws InvalidJsonException {
        return (int) estimator.integer(name, Limits.MIN_RING_ESTIMATOR, Limits.MAX_RING_ESTIMATOR);
    }

    private static int intervals(JsonFields fields, String name) throws InvalidJsonException {
        return (int) fields.integer(name, Limits.MIN_RING_INTERVALS, Limits.MAX_RING_INTERVALS);
    }

    private static Station station(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "name", "device_id", "mac", "weight", "hosts", CLASSES);
        List<TrafficRule> rules = fields.optional(CLASSES).isPresent() ? rules(fields) : List.of();
        return new Station(fields.name("name"), Ports.DEVICE.read(fields), fields.parsed("mac", MacAddress::parse), WEIGHT.read(fields),
                AccessHosts.read(fields), rules);
    }

    private static List<TrafficRule> rules(JsonFields parent) throws InvalidJsonException {
        List<TrafficRule> rules = new ArrayList<>();
        for (JsonNode rule : parent.array(CLASSES)) {
            JsonFields fields = JsonFields.of(parent.place(CLASSES + "[" + rules.size() + "]"), rule, "port", "dscp", "class", "rate_bps");
            rules.add(new TrafficRule(AccessHosts.port(fields), (int) fields.integer("dscp", 0, TrafficRule.MAX_DSCP),
                    fields.choice("class", HOST_CLASSES),
                    fields.integer("rate_bps", Limits.MIN_CLASS_RATE_BPS, Limits.MAX_CLASS_RATE_BPS)));
        }
        return rules;
    }

    private static List<RingLink> links(JsonFields parent, List<Station> stations) throws InvalidJsonException {
        Map<String, Integer> numbers = new HashMap<>();
        stations.forEach(station -> numbers.putIfAbsent(station.name(), numbers.size()));
        List<RingLink> links = new ArrayList<>();
        for (JsonNode link : parent.array("links")) {
            JsonFields fields = JsonFields.of(parent.place("links[" + links.size() + "]"), link, "from", "to", "rate_bps", "delay_ns");
            Integer from = numbers.get(fields.text("from"));
            if (from == null) {
                throw new InvalidJsonException(fields.place("from"), "unknown station '" + fields.text("from") + "'");
            }
            String next = stations.get((from + 1) % stations.size()).name();
            if (!fields.text("to").equals(next)) {
                throw new InvalidJsonException(fields.place("to"), "expected '" + next + "', the station after '" + fields.text("from") + "'");
            }
            links.add(new RingLink(from, fields.integer("rate_bps", Limits.MIN_RING_RATE_BPS, Limits.MAX_RING_RATE_BPS),
                    fields.integer("delay_ns", Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS)));
        }
        return links;
    }
}
