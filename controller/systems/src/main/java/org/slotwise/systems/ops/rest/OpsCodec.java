// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slotwise.rest.system.AccessHosts;
import org.slotwise.rest.system.Ports;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsLink;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsProbes;
import org.slotwise.systems.ops.model.OpsSettings;
import org.slotwise.systems.ops.model.OpsSwitch;
import org.slotwise.wire.Limits;
import org.slotwise.wire.WireConstants;

/** Optical packet switches in the form of {@code schema/network.schema.json}, and the views of what their application shows. */
public final class OpsCodec {
    private static final String UNIT = "timestamp_unit";
    private static final String FIBRES = "fibres";
    private static final List<String> OF_PROBES = List.of("probe_rate_bps", "period_ns", "alpha", "beta", "gamma");

    private final String where;
    private final Map<String, Integer> switchNumbers = new HashMap<>();
    private final Map<String, Integer> edgeNumbers = new HashMap<>();

    private OpsCodec(String where) {
        this.where = where;
    }

    /** Reads a network; {@code where} is its place in a larger document, or empty. */
    public static OpsNetwork decode(String where, JsonNode value) throws InvalidJsonException {
        try {
            return new OpsCodec(where).network(value);
        } catch (InvalidNetworkException e) {
            throw InvalidJsonException.within(where, e);
        }
    }

    private OpsNetwork network(JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, "name", "wavelengths", "conversion", "probes", "fibre_shift", "rate_bps", "ram_bytes",
                "longest_bytes", "framing_bytes", "guard_ns", "deflections", "hops", "target", "probe_rate_bps", "period_ns", "alpha", "beta",
                "gamma", UNIT, "switches", "edges", "links", OpsTrafficCodec.AGGREGATION, OpsTrafficCodec.INGRESS, OpsTrafficCodec.CLASSES,
                OpsTrafficCodec.MACROFLOWS);
        String name = fields.name("name");
        OpsSettings settings = settings(fields);
        List<OpsSwitch> switches = new ArrayList<>();
        for (JsonNode each : OpsTrafficCodec.elements(fields, "switches", 0, OpsNetwork.MAX_NODES)) {
            JsonFields one = JsonFields.of(fields.place("switches[" + switches.size() + "]"), each, "name", "device_id");
            switchNumbers.putIfAbsent(one.name("name"), switches.size());
            switches.add(new OpsSwitch(one.name("name"), Ports.DEVICE.read(one)));
        }
        List<OpsEdge> edges = new ArrayList<>();
        List<JsonNode> described = OpsTrafficCodec.elements(fields, "edges", OpsNetwork.MIN_EDGES, OpsNetwork.MAX_NODES);
        // What is wrong with one of them is said when it is read.
        described.forEach(each -> edgeNumbers.putIfAbsent(each.path("name").asText(), each.path("number").asInt()));
        for (JsonNode each : described) {
            edges.add(edge(fields.place("edges[" + edges.size() + "]"), each));
        }
        List<OpsLink> links = new ArrayList<>();
        for (JsonNode each : OpsTrafficCodec.elements(fields, "links", 0, OpsNetwork.MAX_LINKS)) {
            links.add(link(fields.place("links[" + links.size() + "]"), each));
        }
        return new OpsNetwork(name, settings, switches, edges, links);
    }

    private static OpsSettings settings(JsonFields fields) throws InvalidJsonException {
        OpsSettings.Builder settings = new OpsSettings.Builder()
                .wavelengths((int) fields.integer("wavelengths", 1, OpsSettings.MAX_WAVELENGTHS), fields.flag("conversion"),
                        (int) fields.integer("fibre_shift", 0, OpsSettings.MAX_FIBRE_SHIFT))
                .rateBps(fields.integer("rate_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS))
                .ramBytes(fields.integer("ram_bytes", 0, OpsSettings.MAX_RAM_BYTES))
                .trains((int) fields.integer("longest_bytes", 1, OpsSettings.MAX_LONGEST_BYTES),
                        (int) fields.integer("framing_bytes", 0, OpsSettings.MAX_FRAMING_BYTES),
                        fields.integer("guard_ns", 0, OpsSettings.MAX_GUARD_NS))
                .ways((int) fields.integer("deflections", 0, OpsSettings.MAX_DEFLECTIONS),
                        (int) fields.integer("hops", OpsSettings.MIN_HOPS, OpsSettings.MAX_HOPS))
                .target(fields.part("target"))
                .traffic(OpsTrafficCodec.decode(fields));
        if (fields.optional(UNIT).isPresent()) {
            settings.unit(fields.parsed(UNIT, TimestampUnit::parse));
        }
        boolean hasProbes = fields.flag("probes");
        if (hasProbes) {
            settings.probes(new OpsProbes(fields.integer("probe_rate_bps", Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS),
                    fields.integer("period_ns", OpsProbes.MIN_PERIOD_NS, OpsProbes.MAX_PERIOD_NS),
                    fields.part("alpha"), fields.part("beta"), fields.part("gamma")));
        }
        for (String name : OF_PROBES) {
            if (!hasProbes && fields.optional(name).isPresent()) {
                throw new InvalidJsonException(fields.place(name), "requires 'probes'");
            }
        }
        return settings.build();
    }

    private OpsEdge edge(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "name", "device_id", "number", "mac", "switch", "fibre", "delay_ns", FIBRES, "agents",
                "flow_queues", "hosts");
        String name = fields.name("name");
        DeviceId device = Ports.DEVICE.read(fields);
        int number = (int) fields.integer("number", 0, OpsNetwork.MAX_NODES - 1);
        MacAddress mac = fields.parsed("mac", MacAddress::parse);
        OpsEdge edge;
        if (fields.optional(FIBRES).isPresent()) {
            for (String other : List.of("switch", "fibre", "delay_ns")) {
                if (fields.optional(other).isPresent()) {
                    throw new InvalidJsonException(fields.place(other), "not allowed with 'fibres' to other edges");
                }
            }
            edge = OpsEdge.direct(name, device, number, mac, direct(fields), AccessHosts.read(fields));
        } else {
            edge = new OpsEdge(name, device, number, mac, number(fields, "switch"), (int) fields.integer("fibre", 0, OpsNetwork.MAX_FIBRE),
                    delayNs(fields), AccessHosts.read(fields));
        }
        return edge.with(fields.optional("agents").isPresent() && fields.flag("agents"), OpsTrafficCodec.flowQueues(fields));
    }

    private List<OpsEdge.Direct> direct(JsonFields edge) throws InvalidJsonException {
        List<OpsEdge.Direct> fibres = new ArrayList<>();
        for (JsonNode each : OpsTrafficCodec.elements(edge, FIBRES, 1, WireConstants.MAX_OUTPUTS)) {
            JsonFields fields = JsonFields.of(edge.place(FIBRES + "[" + fibres.size() + "]"), each, "fibre", "to");
            Integer to = edgeNumbers.get(fields.text("to"));
            if (to == null) {
                throw new InvalidJsonException(fields.place("to"), "unknown edge '" + fields.text("to") + "'");
            }
            fibres.add(new OpsEdge.Direct((int) fields.integer("fibre", 0, WireConstants.MAX_OUTPUTS - 1L), to));
        }
        return fibres;
    }

    private OpsLink link(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(place, value, "a", "b", "fibres", "delay_ns");
        List<JsonNode> fibres = fields.array("fibres");
        if (fibres.size() != 2) {
            throw new InvalidJsonException(fields.place("fibres"), "expected two, the fibres at 'a' and 'b', got " + fibres.size());
        }
        return new OpsLink(number(fields, "a"), number(fields, "b"), fibre(fields, fibres, 0), fibre(fields, fibres, 1), delayNs(fields));
    }

    private static int fibre(JsonFields fields, List<JsonNode> fibres, int end) throws InvalidJsonException {
        JsonNode fibre = fibres.get(end);
        if (!fibre.isIntegralNumber() || !fibre.canConvertToInt() || fibre.intValue() < 0 || fibre.intValue() > OpsNetwork.MAX_FIBRE) {
            throw new InvalidJsonException(fields.place("fibres[" + end + "]"), "expected an integer 0 .. " + OpsNetwork.MAX_FIBRE);
        }
        return fibre.intValue();
    }

    private int number(JsonFields fields, String name) throws InvalidJsonException {
        Integer number = switchNumbers.get(fields.text(name));
        if (number == null) {
            throw new InvalidJsonException(fields.place(name), "unknown switch '" + fields.text(name) + "'");
        }
        return number;
    }

    private static long delayNs(JsonFields fields) throws InvalidJsonException {
        return fields.integer("delay_ns", Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
    }
}
