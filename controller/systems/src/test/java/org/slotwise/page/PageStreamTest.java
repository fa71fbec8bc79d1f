// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

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
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.rest.ControllerService;
import org.slotwise.systems.ring.app.ReportMessage;
import org.slotwise.wire.WireConstants;

/** What a controller says on the live page is what the schema documents, and what its resources say. */
class PageStreamTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path SCHEMAS = Path.of("../../schema").toAbsolutePath().normalize();
    private static final JsonSchema BATCH = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012,
            factory -> factory.schemaMappers(mappers -> mappers.mapPrefix("https://slotwise.dev/schema/", SCHEMAS.toUri().toString())))
            .getSchema(URI.create("https://slotwise.dev/schema/stream.schema.json#/$defs/batch"));

    private long nowMs = 1_790_000_000_000L;

    private PageStream stream(ControllerService service) {
        return new PageStream(service, () -> nowMs);
    }

    /** What is answered, which the schema takes. */
    private JsonNode ask(PageStream stream, String cursor) throws IOException {
        JsonNode batch = JSON.readTree(stream.since(cursor));
        assertEquals(Set.of(), BATCH.validate(batch));
        return batch;
    }

    /** The last update that is answered a period later. */
    private JsonNode later(PageStream stream) throws IOException {
        nowMs += PageStream.PERIOD_MS;
        JsonNode messages = ask(stream, "").get("messages");
        return messages.get(messages.size() - 1);
    }

    private static List<String> texts(JsonNode update, String kind) {
        List<String> texts = new ArrayList<>();
        update.path("news").forEach(news -> {
            if (news.get("kind").textValue().equals(kind)) {
                texts.add(news.get("text").textValue());
            }
        });
        return texts;
    }

    private static Map<String, Double> column(JsonNode update, String table, String column) {
        Map<String, Double> values = new TreeMap<>();
        for (JsonNode one : update.get("tables")) {
            if (one.get("table").textValue().equals(table)) {
                for (int k = 0; k < one.get("names").size(); k++) {
                    values.put(one.get("names").get(k).textValue(), one.at("/columns/" + column).get(k).doubleValue());
                }
            }
        }
        return values;
    }

    @ParameterizedTest
    @ValueSource(strings = {"network-star4.json", "network-star4-twin.json", "network-slot-based.json", "network-routers.json", "network-mixed.json",
        "network-ring.json", "network-ops.json", "network-ops-share.json", "network-lambda.json"})
    void everyNetworkSaysWhatTheSchemaDocuments(String file) throws Exception {
        RunningApps waiting = new RunningApps(RunningApps.example(file));
        JsonNode first = ask(stream(waiting), "").get("messages");
        assertEquals("hello", first.get(0).get("message").textValue());
        assertEquals(2, first.size());
        PageStream stream = stream(RunningApps.of(file));
        ask(stream, "");
        assertEquals(List.of(), texts(later(stream), "alarm"));
    }

    @Test
    void theExampleIsWhatAStarSays() throws Exception {
        RunningApps star = RunningApps.of("network-star4.json").withDemand();
        JsonNode batch = ask(stream(star), "");
        assertEquals(RunningApps.example("stream-controller.json"), batch, () -> batch.toPrettyString());
    }

    /** Or the other tests would say nothing. */
    @Test
    void theSchemaRefusesWhatItDoesNotDocument() throws IOException {
        for (String place : List.of("", "/messages/0", "/messages/0/network", "/messages/0/frame", "/messages/1", "/messages/1/star")) {
            JsonNode batch = RunningApps.example("stream-controller.json");
            ((ObjectNode) batch.at(place)).put("more", 1);
            assertFalse(BATCH.validate(batch).isEmpty(), place);
        }
        JsonNode engine = RunningApps.example("stream-controller.json");
        ((ObjectNode) engine.at("/messages/0")).put("command", "emulate");
        assertFalse(BATCH.validate(engine).isEmpty(), "an engine says its scenario and seed");
    }

    @Test
    void aStarSaysWhatItsResourcesSay() throws Exception {
        RunningApps controller = RunningApps.of("network-star4.json").withDemand();
        JsonNode messages = ask(stream(controller), "").get("messages");
        JsonNode frame = messages.get(0).get("frame");
        JsonNode topology = controller.read("star", "topology");
        assertEquals(topology.at("/frame/slots").intValue(), frame.get("slots").intValue());
        assertEquals(topology.at("/frame/first_data_slot").intValue(), frame.get("signaling_slots").intValue());
        assertEquals(topology.get("edges").size(), messages.at("/0/network/edges").intValue());
        JsonNode star = messages.get(1).get("star");
        int edges = messages.at("/0/network/edges").intValue();
        Map<Integer, List<Long>> said = new TreeMap<>();
        for (int k = 0; k < star.get("pairs").size(); k++) {
            said.put(star.get("pairs").get(k).intValue(), List.of(star.get("demand_bytes").get(k).longValue(), star.get("in_force_slots").get(k).longValue()));
        }
        Map<Integer, List<Long>> known = new TreeMap<>();
        for (JsonNode pair : controller.read("star", "demand").get("pairs")) {
            List<Long> of = List.of(pair.get("backlog_bytes").longValue(), pair.get("granted_slots").longValue());
            if (!of.equals(List.of(0L, 0L))) {
                known.put(pair.get("from").intValue() * edges + pair.get("to").intValue(), of);
            }
        }
        assertEquals(known, said);
        assertEquals(400_000, known.get(edges + 2).get(0));
        assertFalse(star.has("delivered_bytes"), "what it does not know it does not say");
    }

    @Test
    void choicesAndSwitchesThatGoAndComeAreNews() throws Exception {
        RunningApps controller = RunningApps.of("network-star4.json").withDemand();
        PageStream stream = stream(controller);
        assertEquals(List.of(), texts(later(stream), "change"));
        controller.change("star", "scheduler", "{\"name\": \"islip\", \"settings\": {\"iterations\": 2}}");
        DeviceId edge = DeviceId.of(controller.read("star", "topology").at("/edges/3/device_id").longValue());
        controller.deliver(new Event.DeviceLost(edge));
        JsonNode update = later(stream);
        assertTrue(texts(update, "change").get(0).startsWith("islip, "), update::toString);
        assertTrue(texts(update, "change").get(0).contains("iterations 2"), update::toString);
        assertEquals(List.of("edge 3 disconnected"), texts(update, "alarm"));
        assertEquals(List.of(), texts(later(stream), "alarm"), "it is told once");
        controller.deliver(new Event.DeviceReady(edge, List.of()));
        assertEquals(List.of("edge 3 connected"), texts(later(stream), "recovery"));
    }

    @Test
    void portsThatLoseTheirLightAreAlarms() throws Exception {
        for (Map.Entry<String, String> of : Map.of("network-routers.json", "routes", "network-ring.json", "ring", "network-ops.json", "ops").entrySet()) {
            RunningApps controller = RunningApps.of(of.getKey());
            PageStream stream = stream(controller);
            assertFalse(column(later(stream), "links", "light").containsValue(0.0), of::getKey);
            JsonNode port = controller.read(of.getValue(), "ports").at("/ports/0");
            String path = "ports/" + port.get("device_id") + "/" + port.get("port");
            controller.change(of.getValue(), path, "{\"up\":false}");
            JsonNode dark = later(stream);
            assertEquals(1, column(dark, "links", "light").values().stream().filter(light -> light == 0).count(), dark::toString);
            assertTrue(texts(dark, "alarm").get(0).endsWith(" is down"), dark::toString);
            controller.change(of.getValue(), path, "{\"up\":true}");
            assertTrue(texts(later(stream), "recovery").get(0).endsWith(" is up"));
        }
    }

    @Test
    void aRingSaysWhatItsStationsMayAdd() throws Exception {
        ObjectNode document = (ObjectNode) RunningApps.example("network-ring.json");
        ((ObjectNode) document.at("/apps/ring")).put("mode", "controller");
        ((ObjectNode) document.at("/apps/ring/stations/0")).put("weight", 3);
        RunningApps controller = new RunningApps(document).withSwitches();
        controller.at(5_000_000_000L);
        PageStream stream = stream(controller);
        JsonNode stations = document.at("/apps/ring/stations");
        long rateBps = document.at("/apps/ring/links/0/rate_bps").longValue();
        assertEquals(Set.of((double) rateBps), Set.copyOf(column(later(stream), "links", "limit_bps").values()));
        controller.deliver(new Event.PacketIn(DeviceId.of(stations.at("/1/device_id").longValue()), WireConstants.PORT_LINECARD,
                new ReportMessage(1, 0, 1).source(0, 1_000_000).source(1, 1_000_000).encode()));
        JsonNode update = later(stream);
        JsonNode span = controller.read("ring", "spans").at("/spans/0");
        double advertisedBps = span.get("advertised_bps").doubleValue();
        Map<String, Double> limits = column(update, "links", "limit_bps");
        assertEquals(3 * advertisedBps, limits.get(stations.at("/0/name").textValue() + "/0"), span::toString);
        assertEquals(advertisedBps, limits.get(stations.at("/1/name").textValue() + "/0"));
        assertEquals(rateBps, limits.get(stations.at("/2/name").textValue() + "/0"));
        assertEquals(rateBps, limits.get(stations.at("/0/name").textValue() + "/1"));
        assertEquals(2, column(update, "links", "active_stations").get(stations.at("/1/name").textValue() + "/0"));
    }

    @Test
    void sessionsStandBesideTheOracle() throws Exception {
        RunningApps controller = RunningApps.of("network-lambda.json");
        PageStream stream = stream(controller);
        JsonNode update = later(stream);
        assertEquals(Map.of("backup", controller.read("lambda", "sessions").at("/sessions/0/granted_bps").doubleValue()), column(update, "sessions", "rate_bps"));
        assertEquals(column(update, "sessions", "rate_bps"), column(update, "sessions", "fair_bps"));
        assertEquals(Map.of("all sessions", 0.0), column(update, "distance", "distance"));
        controller.delete("lambda", "sessions/backup");
        assertEquals(Map.of(), column(later(stream), "sessions", "rate_bps"));
    }

    @Test
    void opticalPacketSwitchesSayTargetsAndLabels() throws Exception {
        RunningApps controller = RunningApps.of("network-ops-macroflows.json");
        JsonNode target = controller.read("ops", "targets").at("/targets/0");
        PageStream stream = stream(controller);
        JsonNode update = later(stream);
        assertTrue(column(update, "links", "target").containsValue(target.get("target").doubleValue()));
        assertFalse(column(update, "labels", "first_fibre").isEmpty());
        controller.change("ops", "targets/" + target.get("device_id") + "/" + target.get("port"), "{\"target\":0.25}");
        assertTrue(texts(later(stream), "change").get(0).endsWith(" has target utilization 0.25"));
    }

    // ---- readers ----

    @Test
    void aReaderGetsWhatIsNewAndAStrangerAllThatIsKept() throws Exception {
        RunningApps controller = RunningApps.of("network-star4.json");
        PageStream stream = stream(controller);
        JsonNode first = ask(stream, "");
        assertEquals(2, first.get("messages").size());
        assertEquals(0, ask(stream, first.get("next").textValue()).get("messages").size(), "nothing is new so soon");
        int asked = controller.asked();
        ask(stream, "");
        assertEquals(asked, controller.asked(), "all readers share what was asked once");
        nowMs += PageStream.PERIOD_MS;
        JsonNode second = ask(stream, first.get("next").textValue());
        assertEquals(1, second.get("messages").size());
        assertEquals(500_000_000, second.at("/messages/0/now_ns").longValue());
        assertEquals(3, ask(stream, "").get("messages").size());
        assertEquals(3, ask(stream, "00000000deadbeef-1").get("messages").size(), "a cursor of another stream begins anew");
        assertEquals(3, ask(stream, first.get("next").textValue().replaceAll("-.*", "-999999999999999")).get("messages").size());
    }

    @Test
    void cursorsAreThoseThatItGave() {
        assertTrue(PageStream.isCursor("00000193deadbeef-17"));
        for (String none : List.of("", "17", "-", "00000193deadbeef-", "00000193DEADBEEF-1", "00000193deadbeef-1234567890123456", " 00000193deadbeef-1")) {
            assertFalse(PageStream.isCursor(none), none);
        }
    }

    @Test
    void anotherNetworkBeginsAnotherStream() throws Exception {
        RunningApps one = RunningApps.of("network-star4.json");
        RunningApps other = RunningApps.of("network-ring.json");
        ControllerService[] now = {one};
        PageStream stream = stream(() -> now[0].apps());
        String cursor = ask(stream, "").get("next").textValue();
        now[0] = other;
        nowMs += PageStream.PERIOD_MS;
        JsonNode batch = ask(stream, cursor);
        assertEquals("ring", batch.at("/messages/0/network/kinds/0").textValue());
        assertEquals(2, batch.get("messages").size());
    }

    @Test
    void timeThatGoesBackStands() throws Exception {
        PageStream stream = stream(RunningApps.of("network-star4.json"));
        ask(stream, "");
        nowMs += PageStream.PERIOD_MS;
        ask(stream, "");
        nowMs -= 10 * PageStream.PERIOD_MS;
        assertEquals(3, ask(stream, "").get("messages").size());
    }

    @Test
    void aControllerThatDoesNotAnswerIsSaidAndAskedAgain() throws Exception {
        RunningApps controller = RunningApps.of("network-star4.json");
        PageStream stream = stream(controller);
        controller.failWith(new ControllerService.UnavailableException("the controller does not answer", null));
        assertThrows(ControllerService.UnavailableException.class, () -> stream.since(""));
        controller.failWith(null);
        assertEquals(2, ask(stream, "").get("messages").size());
        // At the same moment: what was said is not old yet.
        controller.failWith(new ControllerService.UnavailableException("the app is not active", null));
        assertThrows(ControllerService.UnavailableException.class, () -> stream.since(""));
    }

    /** Says so many things. */
    private static AppPage large(int things) {
        AppPage page = new AppPage("routers");
        for (int k = 0; k < things; k++) {
            page.portIs("router:" + k, false).row("links", "router:" + k, Map.of("light", 0));
        }
        return page;
    }

    @Test
    void whatIsKeptAndWhatIsSaidAtOnceIsBounded() throws Exception {
        SystemResources<?> large = PageOnly.of(() -> large(PageMessages.MOST_THINGS + 10));
        PageStream stream = stream(() -> List.of(large));
        JsonNode first = ask(stream, "").at("/messages/1");
        assertEquals(PageMessages.MOST_THINGS, first.at("/tables/0/names").size());
        assertEquals(PageMessages.MOST_THINGS, first.at("/tables/0/columns/light").size());
        assertEquals(PageMessages.MOST_NEWS + 1, first.get("news").size());
        assertEquals("and " + (PageMessages.MOST_THINGS + 10 - PageMessages.MOST_NEWS) + " more events", first.at("/news/" + PageMessages.MOST_NEWS + "/text").textValue());
        for (int update = 0; update < 100; update++) {
            nowMs += PageStream.PERIOD_MS;
            stream.since("");
        }
        String all = stream.since("");
        assertTrue(all.length() > PageStream.MOST_KEPT_CHARS / 2 && all.length() < PageStream.MOST_KEPT_CHARS + 1000, () -> all.length() + " characters");
        assertEquals(50_000_000_000L, later(stream).get("now_ns").longValue() - 500_000_000L, "the newest is there");
    }
}
