// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.ops.model.OpsFlowQueue;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsSettings;
import org.slotwise.systems.ops.model.OpsShare;
import org.slotwise.systems.ops.model.OpsTraffic;
import org.slotwise.systems.ops.model.OpsTraffic.Scheme;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.systems.shared.rest.TrafficClassCodec;

/** What edges make of packets, in the form of {@code schema/network.schema.json}. */
final class OpsTrafficCodec {
    static final String AGGREGATION = "aggregation";
    static final String INGRESS = "ingress";
    static final String CLASSES = "classes";
    static final String MACROFLOWS = "macroflows";
    private static final String SHARE = "share";
    private static final String NONE = "none";
    private static final String SIZE = "size_bytes";
    private static final String EDGES = "edges";
    private static final String TRAINS = "trains";

    private OpsTrafficCodec() {
    }

    /** Reads the keys of a network that say it; those that are missing say nothing. */
    static OpsTraffic decode(JsonFields network) throws InvalidJsonException {
        OpsTraffic.Builder traffic = new OpsTraffic.Builder();
        if (network.optional(CLASSES).isPresent()) {
            traffic.classes(classes(network));
        }
        Optional<JsonNode> aggregation = network.optional(AGGREGATION);
        if (aggregation.isPresent()) {
            aggregation(traffic, JsonFields.of(network.place(AGGREGATION), aggregation.get(), "scheme", SIZE, EDGES));
        }
        Optional<JsonNode> ingress = network.optional(INGRESS);
        if (ingress.isPresent()) {
            JsonFields fields = JsonFields.of(network.place(INGRESS), ingress.get(), TRAINS, "fair");
            OptionalInt trains = fields.optional(TRAINS).isEmpty() ? OptionalInt.empty()
                    : OptionalInt.of((int) fields.integer(TRAINS, 0, OpsTraffic.MAX_TRAINS));
            traffic.ingress(trains, fields.flag("fair"));
        }
        Optional<JsonNode> macroflows = network.optional(MACROFLOWS);
        if (macroflows.isPresent() && macroflows.get().isObject()) {
            JsonFields fields = JsonFields.of(network.place(MACROFLOWS), macroflows.get(), "pair", "satisfied", SHARE);
            if (!fields.flag("pair")) {
                throw new InvalidJsonException(fields.place("pair"), "expected true, one macroflow per edge pair");
            }
            traffic.macroflows(fields.flag("satisfied"));
            if (fields.optional(SHARE).isPresent()) {
                traffic.share(share(JsonFields.of(fields.place(SHARE), fields.optional(SHARE).get(), "capacity_bps", "alpha", "beta", "capped")));
            }
        } else if (macroflows.isPresent() && !network.text(MACROFLOWS).equals(NONE)) {
            throw new InvalidJsonException(network.place(MACROFLOWS), "expected none or an object with 'pair', got '" + network.text(MACROFLOWS) + "'");
        }
        return traffic.build();
    }

    private static OpsShare share(JsonFields fields) throws InvalidJsonException {
        return new OpsShare(fields.integer("capacity_bps", 1, OpsShare.MAX_CAPACITY_BPS), fields.part("alpha"), fields.part("beta"), fields.flag("capped"));
    }

    private static void aggregation(OpsTraffic.Builder traffic, JsonFields fields) throws InvalidJsonException {
        Scheme scheme = fields.parsed("scheme", Scheme::parse);
        Set<String> edges = new LinkedHashSet<>();
        if (fields.optional(EDGES).isPresent()) {
            for (JsonNode each : elements(fields, EDGES, 1, OpsNetwork.MAX_NODES)) {
                edges.add(JsonFields.text(fields.place(EDGES + "[" + edges.size() + "]"), each));
            }
        }
        if (scheme == Scheme.NONE) {
            for (String name : List.of(SIZE, EDGES)) {
                if (fields.optional(name).isPresent()) {
                    throw new InvalidJsonException(fields.place(name), "not allowed with scheme 'none'");
                }
            }
            return;
        }
        traffic.aggregation(scheme, (int) fields.integer(SIZE, 1, OpsTraffic.MAX_SIZE_BYTES), edges);
    }

    /** How many there are counts before what they are. */
    static List<JsonNode> elements(JsonFields fields, String name, int least, int most) throws InvalidJsonException {
        List<JsonNode> elements = fields.array(name);
        if (elements.size() < least || elements.size() > most) {
            throw new InvalidJsonException(fields.place(name), "expected " + least + " .. " + most + ", got " + elements.size());
        }
        return elements;
    }

    private static List<TrafficClass> classes(JsonFields network) throws InvalidJsonException {
        List<TrafficClass> classes = new ArrayList<>();
        for (JsonNode each : elements(network, CLASSES, 0, TrafficClass.MAX_CLASS + 1)) {
            String place = network.place(CLASSES + "[" + classes.size() + "]");
            JsonFields fields = JsonFields.of(place, each, "class", "match", "wavelength", "weight");
            classes.add(TrafficClassCodec.read(place, fields, (int) fields.integer("wavelength", 0, OpsSettings.MAX_WAVELENGTHS - 1L),
                    fields.number("weight", TrafficClass.MIN_WEIGHT, TrafficClass.MAX_WEIGHT)));
        }
        return classes;
    }

    /** Reads {@code flow_queues} of an edge; none if they are missing. */
    static List<OpsFlowQueue> flowQueues(JsonFields edge) throws InvalidJsonException {
        List<OpsFlowQueue> queues = new ArrayList<>();
        if (edge.optional("flow_queues").isEmpty()) {
            return queues;
        }
        for (JsonNode each : elements(edge, "flow_queues", 0, OpsFlowQueue.MAX_QUEUE + 1)) {
            JsonFields fields = JsonFields.of(edge.place("flow_queues[" + queues.size() + "]"), each, "src", "dst", "protocol", "src_port",
                    "dst_port", "queue", "dst_edge", "class");
            queues.add(new OpsFlowQueue(fields.parsed("src", Ipv4Address::ofHost), fields.parsed("dst", Ipv4Address::ofHost),
                    (int) fields.integer("protocol", 0, OpsFlowQueue.MAX_PROTOCOL), (int) fields.integer("src_port", 0, OpsFlowQueue.MAX_PORT),
                    (int) fields.integer("dst_port", 0, OpsFlowQueue.MAX_PORT), (int) fields.integer("queue", 0, OpsFlowQueue.MAX_QUEUE),
                    (int) fields.integer("dst_edge", 0, OpsNetwork.MAX_NODES - 1), (int) fields.integer("class", 0, TrafficClass.MAX_CLASS)));
        }
        return queues;
    }
}
