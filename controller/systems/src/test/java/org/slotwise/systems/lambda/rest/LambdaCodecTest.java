// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.model.LambdaWeb;

class LambdaCodecTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path SCHEMAS = Path.of("../../schema");

    private final JsonSchema schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(read("network.schema.json"));
    private final Map<String, String> kept = new HashMap<>();
    private OneSystem<LambdaView> host;

    LambdaCodecTest() throws IOException {
    }

    private static JsonNode read(String file) throws IOException {
        return JSON.readTree(SCHEMAS.resolve(file).toFile());
    }

    private static ObjectNode example() throws IOException {
        return (ObjectNode) read("examples/network-lambda.json").at("/apps/lambda");
    }

    private static ObjectNode empty() throws IOException {
        ObjectNode empty = example();
        empty.remove("sessions");
        return empty;
    }

    private static ObjectNode star() throws IOException {
        return (ObjectNode) JSON.readTree("{\"name\":\"star\",\"nodes\":[{\"name\":\"e0\"},{\"name\":\"e1\"},{\"name\":\"e2\"}],"
                + "\"slots\":{\"a_frame\":16,\"slot_bps\":1000000}}");
    }

    private boolean schemaTakes(JsonNode part) {
        ObjectNode document = JSON.createObjectNode();
        document.putObject("apps").set("lambda", part);
        return schema.validate(document).isEmpty();
    }

    @Test
    void networksAreReadAsTheSchemaSaysThem() throws Exception {
        assertTrue(schemaTakes(example()));
        LambdaWeb web = LambdaCodec.decode("", example());
        assertEquals(List.of("backup"), LambdaCodec.sessions("", example(), web).stream().map(Demand::session).collect(Collectors.toList()));
        assertEquals("uic-1", web.nodes().get(3).name());
        assertEquals(500_000_000, web.nodes().get(3).upBps());
        assertEquals(1_000_000_000, web.nodes().get(3).downBps());
        assertEquals(List.of("ucsd-0 up", "ucsd to uic", "uic to uva", "uva-0 down"),
                web.linksOf(0, 4).orElseThrow().stream().map(web.linkNames()::get).collect(Collectors.toList()));
        assertTrue(schemaTakes(star()));
        assertEquals(16_000_000, LambdaCodec.decode("", star()).nodes().get(2).downBps());
    }

    @Test
    void whatIsWrongIsRefusedByBoth() throws Exception {
        refused("nodes[0].up_bps: missing", example(), "/nodes/0", node -> node.remove("rate_bps"));
        refused("nodes[0].up_bps: not allowed with 'rate_bps', the rate of both directions", example(), "/nodes/0", node -> node.put("up_bps", 5_000_000));
        refused("nodes[0].rate_bps: expected an integer 1000000 .. 400000000000, got 5", example(), "/nodes/0", node -> node.put("rate_bps", 5));
        refused("nodes[0].rate: unknown field; did you mean 'name'?", example(), "/nodes/0", node -> node.put("rate", 5));
        refused("nodes[1].site: unknown field; did you mean 'name'?", star(), "/nodes/1", node -> node.put("site", "x"));
        refused("slots.a_frame: expected an integer 1 .. 65535, got 0", star(), "/slots", node -> node.put("a_frame", 0));
        refused("nodes: expected 2 .. 4096, got 0", example(), "", node -> node.putArray("nodes"));
        ObjectNode tooMuch = example();
        ((ObjectNode) tooMuch.at("/sessions/0")).put("bytes", 1_000_000_000).put("deadline_ms", 1);
        assertEquals("apps.lambda.sessions[0]: the deadline requires 8000000000000 b/s; expected at most 'wanted_bps', 100000000", initial(tooMuch));
        ((ObjectNode) tooMuch.at("/sessions/0")).remove("wanted_bps");
        assertEquals("apps.lambda.sessions: session 'backup': the deadline requires 8000000000000 b/s; link 'uic-1 up' has 500000000 b/s unreserved",
                initial(tooMuch));
        ObjectNode twice = example();
        ((ObjectNode) twice.at("/nodes/1")).put("name", "ucsd-0");
        assertEquals("apps.lambda.nodes[1].name: duplicate 'ucsd-0'", assertThrows(InvalidJsonException.class, () -> LambdaCodec.decode("apps.lambda", twice)).getMessage());
    }

    private static String initial(JsonNode part) {
        return assertThrows(InvalidJsonException.class, () -> new LambdaSystem().read("apps.lambda", part)).getMessage();
    }

    private void refused(String reason, ObjectNode part, String place, Consumer<ObjectNode> wrong) {
        wrong.accept((ObjectNode) part.at(place));
        assertFalse(schemaTakes(part), reason);
        assertEquals(reason, assertThrows(InvalidJsonException.class, () -> LambdaCodec.decode("", part)).getMessage());
    }

    private SystemResources<LambdaView> resources(SystemPart<LambdaView> part) {
        host = new OneSystem<>(part, kept);
        return host.resources();
    }

    private static String put(SystemResources<?> lambda, String session, String body) throws Exception {
        return lambda.change("sessions/" + session, JSON.readTree(body.replace('\'', '"'))).toString().replace('"', '\'');
    }

    @Test
    void sessionsJoinChangeAndLeaveAndAreKept() throws Exception {
        SystemResources<?> lambda = resources(new LambdaSystem().read("", empty()));
        assertEquals("{'session':'a','source':'ucsd-0','sink':'uva-0','weight':1.0,'granted_bps':1000000000,'fair_bps':1000000000,'limited_by':'ucsd-0 up'}",
                put(lambda, "a", "{'source':'ucsd-0','sink':'uva-0'}"));
        assertEquals("{'session':'b','source':'ucsd-1','sink':'uva-0','wanted_bps':300000000,'weight':2.0,'bytes':1000000,'deadline_ms':1000,"
                + "'granted_bps':300000000,'fair_bps':300000000,'limited_by':null}",
                put(lambda, "b", "{'source':'ucsd-1','sink':'uva-0','wanted_bps':300000000,'weight':2,'bytes':1000000,'deadline_ms':1000}"));
        assertEquals("{'sessions':[{'session':'a','source':'ucsd-0','sink':'uva-0','weight':1.0,'granted_bps':700000000,'fair_bps':700000000,'limited_by':'uic to uva'},"
                + "{'session':'b','source':'ucsd-1','sink':'uva-0','wanted_bps':300000000,'weight':2.0,'bytes':1000000,'deadline_ms':1000,"
                + "'granted_bps':300000000,'fair_bps':300000000,'limited_by':null}]}", lambda.reads().get("sessions").get().toString().replace('"', '\''));
        assertEquals("{'session':'a','source':'ucsd-0','sink':'uva-0','weight':1.0,'granted_bps':700000000,'fair_bps':700000000,'limited_by':'uic to uva'}",
                lambda.read("sessions/a").toString().replace('"', '\''));
        assertEquals("sessions/c: unknown session 'c'", assertThrows(InvalidJsonException.class, () -> lambda.read("sessions/c")).getMessage());
        assertEquals("{'name':'optiputer','nodes':5,'lambdas':4,'sessions':2,'granted_bps':1000000000,'max_min':true}",
                lambda.reads().get("status").get().toString().replace('"', '\''));
        assertTrue(lambda.reads().get("links").get().toString().contains("{\"name\":\"uic to uva\",\"rate_bps\":1000000000,\"sessions\":2,\"load_bps\":1000000000}"));
        assertEquals("{\"slots\":[]}", lambda.reads().get("slots").get().toString());
        assertEquals(2, kept.size());
        // Another controller with the same store; then one whose network has no ucsd-1.
        SystemResources<?> next = resources(new LambdaSystem().read("", empty()));
        assertEquals(lambda.reads().get("sessions").get(), next.reads().get("sessions").get());
        next.delete("sessions/b");
        assertEquals(List.of("session_a"), List.copyOf(kept.keySet()));
        ObjectNode without = empty();
        ((ArrayNode) without.get("nodes")).remove(0);
        assertEquals("{\"sessions\":[]}", resources(new LambdaSystem().read("", without)).reads().get("sessions").get().toString());
        assertEquals(0, kept.size());
        assertEquals(3, lambda.metrics().size());
    }

    @Test
    void sessionsWithALeaseAreNotKeptAndRenewedWithoutAWord() throws Exception {
        SystemResources<?> lambda = resources(new LambdaSystem().read("", empty()));
        put(lambda, "a", "{'source':'ucsd-0','sink':'uva-0'}");
        assertEquals(1, kept.size());
        String leased = "{'source':'ucsd-0','sink':'uva-0','lease_ms':5000}";
        assertEquals("{'session':'a','source':'ucsd-0','sink':'uva-0','weight':1.0,'lease_ms':5000,'granted_bps':1000000000,'fair_bps':1000000000,'limited_by':'ucsd-0 up'}",
                put(lambda, "a", leased));
        assertEquals(0, kept.size());
        assertEquals(0, host.unstored());
        put(lambda, "a", leased);
        assertEquals(1, host.unstored());
        put(lambda, "a", leased.replace("5000", "6000"));
        lambda.delete("sessions/a");
        put(lambda, "a", leased);
        assertEquals(1, host.unstored());
        put(lambda, "a", "{'source':'ucsd-0','sink':'uva-0'}");
        assertEquals(1, kept.size());
        for (String wrong : List.of("999", "86400001", "null", "1.5", "'x'", "-5")) {
            assertThrows(InvalidJsonException.class, () -> put(lambda, "a", leased.replace("5000", wrong)), wrong);
        }
        ObjectNode inDocument = example();
        ((ObjectNode) inDocument.at("/sessions/0")).put("lease_ms", 5000);
        assertFalse(schemaTakes(inDocument));
        assertEquals("apps.lambda.sessions[0].lease_ms: unknown field; expected one of session, source, sink, wanted_bps, weight, bytes, deadline_ms", initial(inDocument));
    }

    @Test
    void aStarShowsSlots() throws Exception {
        SystemResources<?> lambda = resources(new LambdaSystem().read("", star()));
        put(lambda, "a", "{'source':'e0','sink':'e1','wanted_bps':5000000}");
        put(lambda, "b", "{'source':'e0','sink':'e2'}");
        assertEquals("{'slots':[{'source':'e0','sink':'e1','a_frame':5},{'source':'e0','sink':'e2','a_frame':11}]}",
                lambda.reads().get("slots").get().toString().replace('"', '\''));
    }

    @Test
    void whatMakesNoSenseChangesNothing() throws Exception {
        SystemResources<?> lambda = resources(new LambdaSystem().read("", empty()));
        for (String wrong : List.of("a {}", "a []", "a {'source':'nobody','sink':'uva-0'}", "a {'source':'uva-0','sink':'uva-0'}",
                "a.b {'source':'ucsd-0','sink':'uva-0'}", "a {'source':'ucsd-0','sink':'uva-0','wanted_bps':0}",
                "a {'source':'ucsd-0','sink':'uva-0','weight':0}", "a {'source':'ucsd-0','sink':'uva-0','weight':1e400}",
                "a {'source':'ucsd-0','sink':'uva-0','deadline_ms':5}", "a {'source':'ucsd-0','sink':'uva-0','bytes':1.5}",
                "a {'leave':true}", "a {'session':'a','source':'ucsd-0','sink':'uva-0'}", "a {'source':'ucsd-0','sink':'uva-0','leave':null}")) {
            String[] parts = wrong.split(" ", 2);
            assertThrows(InvalidJsonException.class, () -> put(lambda, parts[0], parts[1]), wrong);
        }
        assertThrows(InvalidJsonException.class, () -> lambda.delete("sessions/a"));
        assertThrows(InvalidJsonException.class, () -> lambda.delete("sessions"));
        assertThrows(SystemResources.NotHereException.class,
                () -> put(lambda, "a", "{'source':'ucsd-0','sink':'uva-0','bytes':1000000000,'deadline_ms':1}"));
        assertEquals(Map.of(), kept);
        assertEquals("{\"sessions\":[]}", lambda.reads().get("sessions").get().toString());
    }
}
