// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.topology.TimestampUnit;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.Systems;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsSettings;
import org.slotwise.systems.ops.model.OpsTraffic;
import org.slotwise.systems.shared.model.TrafficClass;

class OpsCodecTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path SCHEMAS = Path.of("../../schema");

    private final JsonNode schemaText = read("network.schema.json");
    private final JsonSchema schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(schemaText);

    OpsCodecTest() throws IOException {
    }

    private static JsonNode read(String file) throws IOException {
        return JSON.readTree(SCHEMAS.resolve(file).toFile());
    }

    private static ObjectNode example() throws IOException {
        return (ObjectNode) read("examples/network-ops.json").at("/apps/ops");
    }

    private static ObjectNode trains() throws IOException {
        return (ObjectNode) read("examples/network-ops-trains.json").at("/apps/ops");
    }

    private static ObjectNode twoLinks() throws IOException {
        return (ObjectNode) read("examples/network-ops-two-links.json").at("/apps/ops");
    }

    private boolean schemaTakes(JsonNode ops) {
        ObjectNode document = JSON.createObjectNode();
        document.putObject("apps").set("ops", ops);
        return schema.validate(document).isEmpty();
    }

    private static String refusal(JsonNode ops) {
        return assertThrows(InvalidJsonException.class, () -> OpsCodec.decode("", ops)).getMessage();
    }

    @Test
    void theExampleIsTakenWholeByBoth() throws Exception {
        assertTrue(schemaTakes(example()));
        OpsNetwork network = OpsCodec.decode("", example());
        assertEquals(Set.of("ops"), NetworkDocument.decode("", read("examples/network-ops.json"), Systems.all()).parts().keySet());
        assertEquals("triangle", network.name());
        assertEquals(0.9, network.settings().target());
        assertEquals(TimestampUnit.NS, network.settings().unit());
        assertEquals(50_000_000, network.settings().probes().orElseThrow().periodNs());
        assertEquals("h2.0", network.edges().get(2).hosts().get(0).name());
        assertEquals(List.of(1, 0), List.of(network.links().get(1).fibreAtA(), network.links().get(1).fibreAtB()));
        assertEquals(Set.of(256, 257, 260, 261, 264, 265), network.dataPorts(0));
    }

    @Test
    void whatEdgesMakeOfPacketsIsRead() throws Exception {
        OpsTraffic traffic = OpsCodec.decode("", trains()).settings().traffic();
        assertEquals(List.of(0, 2, 1), traffic.ordered().stream().map(TrafficClass::number).collect(Collectors.toList()));
        assertTrue(traffic.ordered().get(1).isOfAcknowledgements());
        assertEquals(OptionalInt.of(46), traffic.classes().get(1).dscp());
        assertEquals(List.of(1, 3.0), List.of(traffic.classes().get(1).wavelength(), traffic.classes().get(1).weight()));
        assertEquals(OpsTraffic.Scheme.CLASS, traffic.scheme());
        assertEquals(List.of(9000, OptionalInt.of(2), true, false), List.of(traffic.sizeBytes(), traffic.trains(), traffic.isFair(), traffic.isPaced()));
        OpsNetwork paced = OpsCodec.decode("", read("examples/network-ops-macroflows.json").at("/apps/ops"));
        assertTrue(paced.settings().traffic().isPaced() && paced.settings().traffic().tellsSatisfied());
        assertTrue(paced.edges().get(2).hasAgents());
        assertTrue(paced.settings().hasAgents() && paced.settings().traffic().share().isEmpty());
        OpsSettings sharing = OpsCodec.decode("", read("examples/network-ops-share.json").at("/apps/ops")).settings();
        assertTrue(sharing.traffic().isPaced() && sharing.traffic().share().isPresent() && !sharing.hasAgents());

        OpsNetwork network = OpsCodec.decode("", twoLinks());
        assertEquals(Set.of("e0"), network.settings().traffic().aggregating());
        assertEquals(List.of(0, 1), network.edges().get(1).direct().stream().map(OpsEdge.Direct::fibre).collect(Collectors.toList()));
        assertEquals(2, network.edges().get(0).flowQueues().get(0).queue());
        assertFalse(network.edges().get(0).hasAgents());
        assertFalse(OpsCodec.decode("", example()).settings().traffic().isPaced());
    }

    @Test
    void whatMayBeMissingMay() throws Exception {
        ObjectNode plain = example().put("probes", false).put("timestamp_unit", "us");
        plain.remove(List.of("probe_rate_bps", "period_ns", "alpha", "beta", "gamma", "aggregation", "macroflows"));
        assertTrue(schemaTakes(plain));
        OpsNetwork network = OpsCodec.decode("", plain);
        assertTrue(network.settings().probes().isEmpty());
        assertEquals(TimestampUnit.US, network.settings().unit());
    }

    /** All integers that the schema bounds are bounded here by the same. */
    @Test
    void boundsAreThoseOfTheSchema() throws IOException {
        JsonNode properties = schemaText.at("/$defs/ops_network/properties");
        int bounded = 0;
        for (String name : (Iterable<String>) properties::fieldNames) {
            JsonNode property = properties.get(name);
            if (property.path("type").asText().equals("integer")) {
                long least = property.get("minimum").asLong();
                long most = property.get("maximum").asLong();
                for (long beyond : new long[] {least - 1, most + 1}) {
                    ObjectNode wrong = example().put(name, beyond);
                    assertFalse(schemaTakes(wrong), name);
                    assertEquals(name + ": expected an integer " + least + " .. " + most + ", got " + beyond, refusal(wrong));
                }
                bounded++;
            }
        }
        assertEquals(11, bounded);
    }

    @Test
    void whatIsWrongIsRefusedWithPlaceAndReason() throws IOException {
        ObjectNode wrong = example();
        ((ObjectNode) wrong.at("/links/1")).put("b", "s9");
        assertEquals("links[1].b: unknown switch 's9'", refusal(wrong));
        wrong = example();
        ((ObjectNode) wrong.at("/links/1")).putArray("fibres").add(1).add(240);
        assertEquals("links[1].fibres[1]: expected an integer 0 .. 239", refusal(wrong));
        ((ObjectNode) wrong.at("/links/1")).putArray("fibres").add(1);
        assertEquals("links[1].fibres: expected two, the fibres at 'a' and 'b', got 1", refusal(wrong));
        ((ObjectNode) wrong.at("/links/1")).putArray("fibres").add(1).add(1);
        assertEquals("links[2].fibres[1]: duplicate fibre 1 of 's2'", refusal(wrong));
        wrong = example();
        ((ObjectNode) wrong.at("/edges/0")).put("fibre", 60);
        assertEquals("edges[0].fibre: expected 0 .. 59 with fibre_shift 2, got 60", refusal(wrong));
        ((ObjectNode) wrong.at("/edges/0")).put("switch", "e0");
        assertEquals("edges[0].switch: unknown switch 'e0'", refusal(wrong));
        wrong = example();
        wrong.remove("alpha");
        assertEquals("alpha: missing", refusal(wrong));
        assertEquals("probe_rate_bps: requires 'probes'", refusal(example().put("probes", false)));
        assertEquals("macroflows: expected none or an object with 'pair', got 'pair'", refusal(example().put("macroflows", "pair")));
        wrong = example();
        wrong.putObject("aggregation").put("scheme", "full");
        assertEquals("aggregation.size_bytes: missing", refusal(wrong));
        wrong.putObject("aggregation").put("scheme", "none").put("size_bytes", 9000);
        assertEquals("aggregation.size_bytes: not allowed with scheme 'none'", refusal(wrong));
        wrong.putObject("aggregation").put("scheme", "full").put("size_bytes", 9000).putArray("edges");
        assertEquals("aggregation.edges: expected 1 .. 240, got 0", refusal(wrong));
        wrong = example();
        wrong.putObject("macroflows").put("pair", false).put("satisfied", true);
        assertEquals("macroflows.pair: expected true, one macroflow per edge pair", refusal(wrong));
        wrong.putObject("macroflows").put("pair", true).put("satisfied", false).putObject("share").put("capacity_bps", 0);
        assertEquals("macroflows.share.capacity_bps: expected an integer 1 .. 34359738360, got 0", refusal(wrong));
        ((ObjectNode) wrong.at("/macroflows/share")).put("capacity_bps", 1).put("alpha", 0.1).put("beta", 0).put("capped", true);
        assertEquals("macroflows.share.beta: expected a value above 0 and below 1, got 0.0", refusal(wrong));
        wrong = example();
        wrong.putObject("ingress").put("trains", 255).put("fair", false);
        assertEquals("ingress.trains: expected an integer 0 .. 254, got 255", refusal(wrong));
        wrong = trains();
        ((ObjectNode) wrong.at("/classes/0")).put("weight", 1000.5);
        assertEquals("classes[0].weight: expected a number 0.001 .. 1000, got 1000.5", refusal(wrong));
        ((ObjectNode) wrong.at("/classes/0")).put("weight", 1).putObject("match").put("dscp", 3);
        assertEquals("classes[0].match: not allowed for class 0, the default class", refusal(wrong));
        wrong = twoLinks();
        ((ObjectNode) wrong.at("/edges/0/fibres/1")).put("to", "e7");
        assertEquals("edges[0].fibres[1].to: unknown edge 'e7'", refusal(wrong));
        wrong = twoLinks();
        ((ObjectNode) wrong.at("/edges/0/flow_queues/0")).put("queue", 1023);
        assertEquals("edges[0].flow_queues[0].queue: expected an integer 0 .. 1022, got 1023", refusal(wrong));
        assertEquals("target: expected a value above 0 and at most 1, got 0.0", refusal(example().put("target", 0)));
        assertEquals("timestamp_unit: expected ns or us, got 'ms'", refusal(example().put("timestamp_unit", "ms")));
        assertEquals("guard: unknown field; did you mean 'guard_ns'?", refusal(example().put("guard", 0)));
        wrong = example();
        wrong.putArray("switches");
        assertEquals("edges[0].switch: unknown switch 's0'", refusal(wrong));
        assertEquals("apps.ops.hops: missing", assertThrows(InvalidJsonException.class, () -> {
            ObjectNode without = example();
            without.remove("hops");
            OpsCodec.decode("apps.ops", without);
        }).getMessage());
    }

    @Test
    void resourcesShowWhatThereIsAndChangesAreChecked() throws Exception {
        OneSystem<LabelView> host = new OneSystem<>(new OpsSystem().read("", example()), new TreeMap<>());
        SystemResources<LabelView> ops = host.resources();
        assertEquals("{\"configured\":false,\"name\":\"triangle\",\"switches\":3,\"switches_ready\":0,\"edges\":3,\"edges_ready\":0,\"links\":3,"
                + "\"reroutes\":0,\"write_failures\":0}", ops.reads().get("status").get().toString());
        assertTrue(ops.reads().get("routes").get().toString().startsWith("{\"switches\":[{\"name\":\"s0\",\"device_id\":4001,\"routes\":["
                + "{\"edge\":0,\"fibres\":[2]},{\"edge\":1,\"fibres\":[0,1]},{\"edge\":2,\"fibres\":[1,0]}]}"));
        JsonNode target = JSON.readTree("{\"device_id\":4001,\"port\":257,\"target\":0.5}");
        assertEquals(target, JSON.readTree(ops.change("targets/4001/257", JSON.readTree("{\"target\":0.5}")).toString()));
        assertEquals("{\"device_id\":4001,\"port\":257,\"before\":0.9,\"after\":0.5}", host.audited().get(0).toString());
        assertTrue(ops.read("targets").toString().contains("{\"device_id\":4001,\"port\":257,\"target\":0.5},"
                + "{\"device_id\":4001,\"port\":260,\"target\":0.9}"));
        String dark = "{\"device_id\":5001,\"port\":258,\"up\":false}";
        assertEquals(dark, ops.change("ports/5001/258", JSON.readTree("{\"up\":false}")).toString());
        assertTrue(ops.read("ports").toString().contains(dark));
        assertTrue(ops.read("nodes").toString().contains("\"device_id\":5001,\"program\":\"edge\",\"ready\":false,\"settled\":false,\"dark_ports\":[258]"));
        assertEquals(6, ops.metrics().size());
        for (String wrong : List.of("targets/4001/258 {\"target\":0.5}", "targets/5001/256 {\"target\":0.5}", "targets/4001/256 {\"target\":0}",
                "targets/4001/256 {\"target\":1.1}", "ports/4001/259 {\"up\":true}", "ports/9/256 {\"up\":true}", "ports/4001/256 {\"up\":1}",
                "ports/4001 {\"up\":true}", "targets {\"device_id\":4001,\"port\":257,\"target\":0.5}")) {
            String[] parts = wrong.split(" ", -1);
            JsonNode body = JSON.readTree(parts[1]);
            assertThrows(InvalidJsonException.class, () -> ops.change(parts[0], body), wrong);
        }
        String said = refusal(ops, "targets/4001/258", "{\"target\":0.5}");
        assertTrue(said.startsWith("targets/4001/258: no XCP agent at port 258 of device 4001; expected one of [256, 257, "), said);
        for (String value : List.of("0", "1.5", "-1")) {
            assertEquals("target: expected a number above 0 and at most 1, got " + value, refusal(ops, "targets/4001/257", "{\"target\":" + value + "}"));
        }
        assertEquals("tgt: unknown field; did you mean 'target'?", refusal(ops, "targets/4001/257", "{\"tgt\":0.5}"));
        assertEquals("targets/5001/256: no XCP agent at port 256 of device 5001; the device is an edge", refusal(ops, "targets/5001/256", "{\"target\":0.5}"));
        assertEquals(1, host.audited().size());
    }

    private static String refusal(SystemResources<?> ops, String path, String body) throws Exception {
        JsonNode wrong = JSON.readTree(body);
        return assertThrows(InvalidJsonException.class, () -> ops.change(path, wrong)).getMessage();
    }

    @Test
    void weightsAreThoseOfClassesThatShareOutputs() throws Exception {
        OneSystem<LabelView> host = new OneSystem<>(new OpsSystem().read("", trains()), new TreeMap<>());
        SystemResources<LabelView> ops = host.resources();
        assertEquals("{\"weights\":[{\"class\":0,\"weight\":2.0},{\"class\":1,\"weight\":3.0},{\"class\":2,\"weight\":0.5}]}",
                ops.reads().get("weights").get().toString());
        JsonNode weight = JSON.readTree("{\"class\":1,\"weight\":4.0}");
        JsonNode four = JSON.readTree("{\"weight\":4.0}");
        assertEquals(weight, JSON.readTree(ops.change("weights/1", four).toString()));
        assertEquals("{\"class\":1,\"before\":3.0,\"after\":4.0}", host.audited().get(0).toString());
        assertEquals(4.0, host.app().view().weights().get(1));
        for (String wrong : List.of("3 {\"weight\":1}", "8 {\"weight\":1}", "1 {\"weight\":0}", "1 {\"weight\":1001}", "1 {}",
                "1 {\"weight\":1,\"edge\":0}")) {
            String[] parts = wrong.split(" ", -1);
            assertFalse(refusal(ops, "weights/" + parts[0], parts[1]).isEmpty(), wrong);
        }
        SystemResources<LabelView> plain = OneSystem.of(new OpsSystem().read("", example()));
        assertEquals("class weights require 'ingress: {discipline: fair, trains: 4}' and 'aggregation' in the scenario",
                assertThrows(SystemResources.NotHereException.class, () -> plain.change("weights/1", four)).getMessage());
        assertEquals("{\"weights\":[]}", plain.reads().get("weights").get().toString());
        assertEquals(1, host.audited().size());
    }
}
