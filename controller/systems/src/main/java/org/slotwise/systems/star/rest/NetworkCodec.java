// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.systems.shared.rest.TrafficClassCodec;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Fibre;
import org.slotwise.systems.star.model.FramePlan;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Signaling;
import org.slotwise.wire.Limits;
import org.slotwise.wire.WireConstants;

/** Reads a network in the form of {@code schema/network.schema.json}; its scheduler is {@link SchedulerCodec}'s. */
public final class NetworkCodec {
    private final String where;

    private NetworkCodec(String where) {
        this.where = where;
    }

    /** Reads a network; {@code where} is its place in a larger document, or empty. */
    public static Network decode(String where, JsonNode value) throws InvalidJsonException {
        try {
            return new NetworkCodec(where).network(value);
        } catch (InvalidNetworkException e) {
            throw InvalidJsonException.within(where, e);
        }
    }

    private Network network(JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "frame", "timestamp_unit", "timestamp_tolerance_ns", "cores", "edges",
                "scheduler", "beacon_hold_frames", "mtu", "xcp", "xcp_bps", "membership", "aggregation",
                "min_control_latency_ns");
        List<Core> cores = fields.list("cores", NetworkCodec::core);
        List<Edge> edges = fields.list("edges", NetworkCodec::edge);
        return new Network.Builder(frame(fields.place("frame"), fields.required("frame")),
                fields.parsed("timestamp_unit", TimestampUnit::parse), cores, edges,
                (int) fields.integer("beacon_hold_frames", Limits.MIN_BEACON_HOLD_FRAMES, Limits.MAX_BEACON_HOLD_FRAMES),
                (int) fields.integer("mtu", Limits.MIN_MTU, Limits.MAX_MTU))
                .timestampToleranceNs(fields.optionalInteger("timestamp_tolerance_ns", 0, Network.MAX_TIMESTAMP_TOLERANCE_NS).orElse(0))
                .xcp(fields.optional("xcp").isPresent() && fields.flag("xcp"),
                        fields.optionalInteger("xcp_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS))
                .byInvitation(byInvitation(fields)).trains(trainBytes(fields), trainClasses(fields))
                .minControlLatencyNs(fields.optionalInteger("min_control_latency_ns", Limits.MIN_CONTROL_LATENCY_NS,
                        Limits.MAX_CONTROL_LATENCY_NS).orElse(0))
                .build();
    }

    private static boolean byInvitation(JsonFields fields) throws InvalidJsonException {
        if (fields.optional("membership").isEmpty()) {
            return false;
        }
        String text = fields.text("membership");
        if (!text.equals("static") && !text.equals("invitation")) {
            throw new InvalidJsonException(
                    fields.place("membership"), "expected static or invitation, got '" + text + "'");
        }
        return text.equals("invitation");
    }

    private static OptionalLong trainBytes(JsonFields fields) throws InvalidJsonException {
        Optional<JsonNode> value = fields.optional("aggregation");
        if (value.isEmpty()) {
            return OptionalLong.empty();
        }
        return OptionalLong.of(aggregation(fields, value.get()).integer("size_bytes", 1, Network.MAX_TRAIN_BYTES));
    }

    private static JsonFields aggregation(JsonFields fields, JsonNode value) throws InvalidJsonException {
        return JsonFields.of(fields.place("aggregation"), value, "size_bytes", "classes");
    }

    private static List<TrafficClass> trainClasses(JsonFields fields) throws InvalidJsonException {
        List<TrafficClass> classes = new ArrayList<>();
        Optional<JsonNode> value = fields.optional("aggregation");
        if (value.isEmpty() || aggregation(fields, value.get()).optional("classes").isEmpty()) {
            return classes;
        }
        JsonFields aggregation = aggregation(fields, value.get());
        for (JsonNode each : aggregation.array("classes")) {
            String place = aggregation.place("classes[" + classes.size() + "]");
            classes.add(TrafficClassCodec.read(place, JsonFields.of(place, each, "class", "match"), 0, TrafficClass.PLAIN_WEIGHT));
        }
        return classes;
    }

    private static FramePlan frame(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "slots", "slot_ns", "guard_ns", "signaling",
                "request_interval_frames");
        return new FramePlan((int) fields.integer("slots", Limits.MIN_SLOTS, Limits.MAX_SLOTS),
                fields.integer("slot_ns", Limits.MIN_SLOT_NS, Limits.MAX_SLOT_NS),
                fields.integer("guard_ns", Limits.MIN_GUARD_NS, Limits.MAX_GUARD_NS), signaling(fields), (int) fields.optionalInteger("request_interval_frames", 1, FramePlan.MAX_REQUEST_INTERVAL_FRAMES).orElse(1));
    }

    private static Signaling signaling(JsonFields fields) throws InvalidJsonException {
        String text = fields.optional("signaling").isPresent() ? fields.text("signaling") : "in-band";
        switch (text) {
            case "in-band":
                return Signaling.IN_BAND;
            case "out-of-band":
                return Signaling.OUT_OF_BAND;
            default:
                throw new InvalidJsonException(
                        fields.place("signaling"), "expected in-band or out-of-band, got '" + text + "'");
        }
    }

    private static Core core(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "id", "master", "device_id");
        return new Core(CoreId.of((int) fields.integer("id", 0, CoreId.MAX)),
                EdgeId.of((int) fields.integer("master", 0, EdgeId.MAX)),
                DeviceId.of(fields.integer("device_id", 1, DeviceId.MAX)));
    }

    private static Edge edge(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "id", "device_id", "mac", "hosts", "fibres");
        List<Fibre> fibres = fields.list("fibres", NetworkCodec::fibre);
        List<Host> hosts = fields.list("hosts", NetworkCodec::host);
        return new Edge(EdgeId.of((int) fields.integer("id", 0, EdgeId.MAX)),
                DeviceId.of(fields.integer("device_id", 1, DeviceId.MAX)),
                fields.parsed("mac", MacAddress::parse), hosts, fibres);
    }

    private static Host host(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "name", "ip", "mac", "port");
        return new Host(fields.name("name"), fields.parsed("ip", Ipv4Address::ofHost),
                fields.parsed("mac", MacAddress::parse),
                (int) fields.integer("port", 1, WireConstants.PORT_OPTICAL_BASE - 1));
    }

    private static Fibre fibre(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "core", "port", "rate_bps", "delay_ns", "core_port");
        OptionalInt corePort = fields.optional("core_port").isPresent()
                ? OptionalInt.of((int) fields.integer("core_port", 0, WireConstants.MAX_FIBRES - 1)) : OptionalInt.empty();
        return new Fibre(CoreId.of((int) fields.integer("core", 0, CoreId.MAX)),
                (int) fields.integer("port", WireConstants.PORT_OPTICAL_BASE,
                        WireConstants.PORT_OPTICAL_BASE + WireConstants.MAX_FIBRES - 1),
                fields.integer("rate_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS),
                fields.integer("delay_ns", Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS), corePort);
    }
}
