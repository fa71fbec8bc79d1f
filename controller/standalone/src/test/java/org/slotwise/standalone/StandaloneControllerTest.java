// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppHost;
import org.slotwise.p4runtime.FakeP4Runtime;
import org.slotwise.rest.json.InvalidJsonException;

class StandaloneControllerTest {
    private static final long TIMEOUT_S = 20;
    private static final Path REPOSITORY = Path.of("../..").toAbsolutePath().normalize();
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path directory;
    private FakeP4Runtime switches;

    @BeforeEach
    void startSwitches() throws IOException {
        switches = new FakeP4Runtime(1, 2, 3, 4, 1001);
    }

    @AfterEach
    void stopSwitches() throws InterruptedException {
        switches.close();
    }

    private ObjectNode configuration() throws IOException {
        ObjectNode node = JSON.createObjectNode();
        node.putObject("p4runtime").put("address", switches.address());
        node.putObject("rest").put("host", "127.0.0.1").put("port", 0);
        node.put("store", directory.resolve("store").toString()).put("clock", "wall");
        ObjectNode pipelines = node.putObject("pipelines");
        for (String program : new String[] {"edge", "core"}) {
            pipelines.putObject(program)
                    .put("json", REPOSITORY.resolve("p4src/p4c-out/" + program + ".json").toString())
                    .put("p4info", REPOSITORY.resolve("p4src/p4c-out/" + program + ".p4info.txtpb").toString());
        }
        node.set("network", JSON.readTree(REPOSITORY.resolve("schema/examples/network-star4.json").toFile()));
        return node;
    }

    private Configuration read(ObjectNode node) throws IOException, InvalidJsonException {
        Path file = directory.resolve("controller.json");
        JSON.writeValue(file.toFile(), node);
        return Configuration.read(file);
    }

    private static HttpResponse<String> call(StandaloneController controller, String resource, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(controller.restUrl() + "/slotwise/v1/" + resource));
        if (body != null) {
            request.PUT(HttpRequest.BodyPublishers.ofString(body)).header("Content-Type", "application/json");
        }
        return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static int delete(StandaloneController controller, String resource) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(controller.restUrl() + "/slotwise/v1/" + resource)).DELETE().build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    }

    /** Sets one of what a resource lists, as that shows it: the names of its place are in the path. */
    private static HttpResponse<String> set(StandaloneController controller, String list, String item, String... place) throws Exception {
        ObjectNode value = (ObjectNode) JSON.readTree(item);
        StringBuilder path = new StringBuilder(list);
        for (String field : place) {
            path.append('/').append(value.remove(field).asText());
        }
        return call(controller, path.toString(), value.toString());
    }

    @Test
    void configuresSwitchesAndKeepsTheChosenSchedulerOverARestart() throws Exception {
        for (String clock : new String[] {"wall", "lockstep"}) {
            Configuration configuration = read(configuration().put("clock", clock));
            try (StandaloneController controller = StandaloneController.start(configuration)) {
                controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
                assertTrue(call(controller, "star/status", null).body().contains("\"configured\":true"));
                assertEquals(200, call(controller, "star/scheduler", "{\"name\":\"rotation\"}").statusCode());
            }
        }
        try (StandaloneController controller = StandaloneController.start(read(configuration()))) {
            assertTrue(call(controller, "star/scheduler", null).body().startsWith("{\"name\":\"rotation\""));
        }
    }

    @Test
    void switchesMayHaveServersOfTheirOwn() throws Exception {
        FakeP4Runtime edges = new FakeP4Runtime(1, 2, 3, 4);
        FakeP4Runtime core = new FakeP4Runtime(1001);
        ObjectNode node = configuration();
        node.putObject("p4runtime").put("address", edges.address()).putObject("devices").put("1001", core.address());
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
        } finally {
            edges.close();
            core.close();
        }
        ObjectNode unknown = configuration();
        ((ObjectNode) unknown.get("p4runtime")).putObject("devices").put("1002", "127.0.0.1:1");
        String reason = assertThrows(InvalidJsonException.class, () -> read(unknown)).getMessage();
        assertTrue(reason.startsWith("p4runtime.devices.1002: unknown field"), reason);
    }

    @Test
    void choiceOfASchedulerIsInTheAuditLogAndARefusedOneIsNot() throws Exception {
        Configuration configuration = read(configuration());
        try (StandaloneController controller = StandaloneController.start(configuration)) {
            assertEquals(200, call(controller, "star/scheduler", "{\"name\":\"islip\"}").statusCode());
            assertEquals(422, call(controller, "star/scheduler", "{\"name\":\"eyeslip\"}").statusCode());
        }
        List<String> events = new ArrayList<>();
        for (String line : Files.readAllLines(configuration.store().resolve("audit.jsonl"))) {
            JsonNode entry = JSON.readTree(line);
            events.add(entry.get("event").textValue() + " " + entry.at("/before/name").asText()
                    + entry.path("status").asText() + " " + entry.at("/after/name").asText());
        }
        assertEquals(List.of("scheduler fair islip", "request 200 ", "request 422 "), events);
    }

    @Test
    void shutdownIsAuditedAndHoldsOverARestart() throws Exception {
        FakeP4Runtime cores = new FakeP4Runtime(1, 2, 3, 4, 1001, 1002);
        ObjectNode node = configuration();
        node.putObject("p4runtime").put("address", cores.address());
        node.set("network", JSON.readTree(REPOSITORY.resolve("schema/examples/network-star4-twin.json").toFile()));
        Configuration configuration = read(node);
        try (StandaloneController controller = StandaloneController.start(configuration)) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            assertEquals(200, call(controller, "star/shutdown/1", "{\"shut_down\":true}").statusCode());
        }
        try (StandaloneController controller = StandaloneController.start(configuration)) {
            assertTrue(call(controller, "star/shutdown", null).body()
                    .contains("{\"core\":1,\"master\":1,\"shut_down\":true}"));
            assertEquals(200, call(controller, "star/shutdown/1", "{\"shut_down\":false}").statusCode());
        } finally {
            cores.close();
        }
        assertEquals(List.of("1 false true", "1 true false"), audited("shutdown", "core", "before", "after"));
    }

    /** Values of some fields of each audit record of a kind. */
    private List<String> audited(String kind, String... fields) throws IOException {
        List<String> events = new ArrayList<>();
        for (String line : Files.readAllLines(directory.resolve("store/audit.jsonl"))) {
            JsonNode entry = JSON.readTree(line);
            if (entry.get("event").textValue().equals(kind)) {
                events.add(Stream.of(fields).map(entry::get)
                        .map(value -> value.isValueNode() ? value.asText() : value.toString()).collect(Collectors.joining(" ")));
            }
        }
        return events;
    }

    @Test
    void whatCannotBeKeptIsRefusedAndChangesNothing() throws Exception {
        Configuration configuration = read(configuration());
        try (StandaloneController controller = StandaloneController.start(configuration)) {
            Files.createDirectory(configuration.store().resolve("controller.store.next"));
            HttpResponse<String> refused = call(controller, "star/scheduler", "{\"name\":\"islip\"}");
            assertEquals(507, refused.statusCode());
            assertTrue(refused.body().contains("write failed"), refused.body());
            assertTrue(call(controller, "star/scheduler", null).body().startsWith("{\"name\":\"fair\""));
            Files.delete(configuration.store().resolve("controller.store.next"));
            assertEquals(200, call(controller, "star/scheduler", "{\"name\":\"islip\"}").statusCode());
        }
    }

    // ---- several applications ----

    private ObjectNode configuration(String network) throws IOException {
        ObjectNode node = configuration();
        for (String program : new String[] {"router", "ring", "ops"}) {
            ((ObjectNode) node.get("pipelines")).putObject(program)
                    .put("json", REPOSITORY.resolve("p4src/p4c-out/" + program + ".json").toString())
                    .put("p4info", REPOSITORY.resolve("p4src/p4c-out/" + program + ".p4info.txtpb").toString());
        }
        node.set("network", JSON.readTree(REPOSITORY.resolve("schema/examples/" + network).toFile()));
        return node;
    }

    private void serve(long... devices) throws IOException, InterruptedException {
        switches.close();
        switches = new FakeP4Runtime(devices);
    }

    @Test
    void aStarAndRoutersRunSideBySideAndACapacityHoldsOverARestart() throws Exception {
        serve(4, 8, 1001, 2001, 2002, 2003);
        for (String clock : new String[] {"wall", "lockstep"}) {
            ObjectNode node = configuration("network-mixed.json").put("clock", clock);
            try (StandaloneController controller = StandaloneController.start(read(node))) {
                controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
                JsonNode apps = JSON.readTree(call(controller, "", null).body()).get("systems");
                assertEquals(List.of("star", "routes"), List.of(apps.get(0).get("id").textValue(), apps.get(1).get("id").textValue()));
                assertTrue(call(controller, "star/status", null).body().contains("\"configured\":true"));
                assertTrue(call(controller, "routes/status", null).body().startsWith("{\"configured\":true,\"routers\":3"));
                assertEquals(200, set(controller, "routes/capacities",
                        "{\"device_id\": 2001, \"port\": 2, \"xcp_bps\": 5000000}", "device_id", "port").statusCode());
                String dark = "{\"device_id\":2001,\"port\":2,\"up\":false}";
                assertEquals(dark, set(controller, "routes/ports", dark, "device_id", "port").body());
                assertEquals(404, set(controller, "routes/ports", dark.replace("2001", "1001"), "device_id", "port").statusCode());
            }
        }
        try (StandaloneController controller = StandaloneController.start(read(configuration("network-mixed.json")))) {
            assertTrue(call(controller, "routes/capacities", null).body()
                    .contains("{\"device_id\":2001,\"port\":2,\"xcp_bps\":5000000}"));
            assertEquals(404, set(controller, "routes/capacities",
                    "{\"device_id\": 2003, \"port\": 1, \"xcp_bps\": 5000000}", "device_id", "port").statusCode());
        }
    }

    @Test
    void aCapacityHoldsUntilItsPortIsConfiguredOtherwise() throws Exception {
        serve(2001, 2002, 2003);
        String chosen = "{\"device_id\":2001,\"port\":2,\"xcp_bps\":5000000}";
        ObjectNode node = configuration("network-routers.json");
        ObjectNode first = (ObjectNode) node.at("/network/apps/routes/nodes/0/ports/0");
        ObjectNode second = (ObjectNode) node.at("/network/apps/routes/nodes/0/ports/1");
        first.put("xcp_bps", 700_000_000L);
        second.put("xcp_bps", 800_000_000L);
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertEquals(200, set(controller, "routes/capacities", chosen, "device_id", "port").statusCode());
            assertEquals(200, set(controller, "routes/capacities", chosen.replace("port\":2", "port\":1"), "device_id", "port").statusCode());
        }
        assertEquals(List.of("2 800000000 5000000", "1 700000000 5000000"), audited("capacity", "port", "before", "after"));
        first.put("xcp_bps", 600_000_000L);
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            String capacities = call(controller, "routes/capacities", null).body();
            assertTrue(capacities.contains(chosen), capacities);
            assertTrue(capacities.contains("\"port\":1,\"xcp_bps\":600000000"), capacities);
        }
        first.put("xcp_bps", 700_000_000L);
        second.remove("xcp_bps");
        for (int start = 0; start < 2; start++) {
            try (StandaloneController controller = StandaloneController.start(read(node))) {
                String capacities = call(controller, "routes/capacities", null).body();
                assertTrue(capacities.contains("\"port\":1,\"xcp_bps\":700000000"), "it was forgotten: " + capacities);
                assertEquals(second.has("xcp_bps"), capacities.contains("\"port\":2,\"xcp_bps\":800000000"), capacities);
            }
            second.put("xcp_bps", 800_000_000L);
        }
    }

    @Test
    void whatRunsAfterARestartIsPractised() throws Exception {
        List<String> warnings = new ArrayList<>();
        AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                warnings.add(event.getFormattedMessage());
            }
        };
        appender.start();
        Logger log = (Logger) LoggerFactory.getLogger("org.slotwise.systems.star.rest.WarmUp");
        log.setLevel(Level.WARN);
        log.addAppender(appender);
        ObjectNode node = configuration();
        node.putObject("schedulers").putObject("unable").put("jar", unable().toString());
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertEquals(List.of(), warnings);
            assertEquals(200, call(controller, "star/scheduler", "{\"name\":\"unable\"}").statusCode());
        }
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            ObjectNode ready = JSON.createObjectNode();
            controller.describe(ready);
            assertEquals("unable", ready.at("/scheduler/name").textValue());
            assertEquals(1, warnings.size(), warnings::toString);
            assertTrue(warnings.get(0).startsWith("scheduler 'unable': warm-up failed"), warnings.get(0));
        } finally {
            log.setLevel(null);
            log.detachAppender(appender);
        }
    }

    /** A jar with a scheduler that can make no schedule. */
    private Path unable() throws IOException {
        Path source = directory.resolve("Unable.java");
        Files.writeString(source, """
                import org.slotwise.systems.star.schedule.*;
                public final class Unable implements SchedulerProvider, Scheduler {
                    public String name() { return "unable"; }
                    public String description() { return "Can make no schedule."; }
                    public Scheduler create(SchedulerSettings settings) { return new Unable(); }
                    public FrameSchedule schedule(int[][] demand, FrameSchedule current) { throw new IllegalStateException("unable"); }
                }
                """);
        return Jars.of(directory, source, "Unable");
    }

    @Test
    void routersAloneNeedNoStar() throws Exception {
        serve(2001, 2002, 2003);
        try (StandaloneController controller = StandaloneController.start(read(configuration("network-routers.json")))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            JsonNode routes = JSON.readTree(call(controller, "routes/routes", null).body());
            assertEquals("10.1.0.0/16", routes.at("/routers/0/routes/1/prefix").textValue());
            assertTrue(routes.at("/routers/0/settled").booleanValue());
            switches.sendPacket(2001, 1, new byte[60]);
            String metrics = awaitMetric(controller, "slotwise_controller_packets_unclaimed_total 1.0");
            assertTrue(metrics.contains("slotwise_controller_routes_routers_settled 3.0"), metrics);
            assertTrue(metrics.contains("slotwise_controller_routes_reroutes_total 0.0"), metrics);
            assertTrue(metrics.contains("slotwise_controller_routes_dark_ports 0.0"), metrics);
            assertEquals(404, call(controller, "star/status", null).statusCode());
            assertEquals(404, call(controller, "star", null).statusCode());
        }
        ObjectNode noProgram = configuration("network-routers.json");
        ((ObjectNode) noProgram.get("pipelines")).remove("router");
        checkRefused("pipelines.router: missing", noProgram);
    }

    @Test
    void sessionsOverLambdasNeedNoSwitchAndHoldOverARestart() throws Exception {
        ObjectNode node = configuration("network-lambda.json");
        String joined = "{\"session\": \"film\", \"source\": \"ucsd-0\", \"sink\": \"uva-0\", \"bytes\": 1000000000, \"deadline_ms\": 60000}";
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            HttpResponse<String> answer = set(controller, "lambda/sessions", joined, "session");
            assertEquals(200, answer.statusCode(), answer.body());
            assertEquals(1_000_000_000, JSON.readTree(answer.body()).get("granted_bps").longValue());
            assertEquals(409, set(controller, "lambda/sessions", joined.replace("film", "other").replace("60000", "1"), "session").statusCode());
            assertEquals(422, set(controller, "lambda/sessions", joined.replace("uva-0", "nobody"), "session").statusCode());
            awaitMetric(controller, "slotwise_controller_lambda_sessions 2.0");
        }
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertTrue(call(controller, "lambda/sessions", null).body().contains("\"session\":\"film\""));
            assertEquals(204, delete(controller, "lambda/sessions/film"));
            assertEquals(404, delete(controller, "lambda/sessions/film"));
        }
        // Sessions of a star are slots of the star beside it.
        ObjectNode star = configuration("network-lambda.json");
        ObjectNode lambda = (ObjectNode) star.at("/network/apps/lambda");
        lambda.removeAll().put("name", "star");
        for (int edge = 0; edge < 4; edge++) {
            lambda.withArray("nodes").addObject().put("name", "edge" + edge);
        }
        lambda.putObject("slots").put("a_frame", 8).put("slot_bps", 1_000_000);
        assertEquals("application 'lambda': cannot send requests to application 'star', which is missing or sends requests itself",
                assertThrows(AppHost.ConflictException.class, () -> StandaloneController.start(read(star))).getMessage());
        ((ObjectNode) star.at("/network/apps")).set("star", configuration().get("network"));
        lambda.withArray("sessions").addObject().put("session", "a").put("source", "edge1").put("sink", "edge2");
        try (StandaloneController controller = StandaloneController.start(read(star))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            assertEquals("{\"slots\":[{\"source\":\"edge1\",\"sink\":\"edge2\",\"a_frame\":8}]}", call(controller, "lambda/slots", null).body());
        }
    }

    @Test
    void aPacketRingIsConfiguredAndWhatIsChosenHoldsUntilItIsConfiguredOtherwise() throws Exception {
        serve(3001, 3002, 3003, 3004);
        String weight = "{\"device_id\":3002,\"weight\":7}";
        String rules = "{\"classes\":[{\"port\":1,\"dscp\":46,\"class\":\"reserved\",\"rate_bps\":800000}]}";
        String classes = rules.replace("{\"classes", "{\"device_id\":3001,\"classes");
        ObjectNode node = configuration("network-ring.json");
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            assertTrue(call(controller, "ring/status", null).body().startsWith("{\"configured\":true,\"name\":\"ring4\",\"mode\":\"explicit\""));
            assertTrue(call(controller, "ring/stations", null).body().contains("\"name\":\"node3\",\"device_id\":3004,\"ready\":true,\"settled\":true"));
            assertEquals(250_000, switches.meters(3001).get(7L).getConfig().getCir(), "byte/s of the reserved class of port 1");
            assertEquals(weight, set(controller, "ring/weights", weight, "device_id").body());
            assertEquals(classes, set(controller, "ring/classes", classes, "device_id").body());
            assertEquals("{\"mode\":\"controller\"}", call(controller, "ring/mode", "{\"mode\":\"controller\"}").body());
            String dark = "{\"device_id\":3001,\"port\":256,\"up\":false}";
            assertEquals(dark, set(controller, "ring/ports", dark, "device_id", "port").body());
            for (String wrong : new String[] {"404 weights/3009 {\"weight\":1}", "422 weights/3002 {\"weight\":0}",
                "422 mode {\"mode\":\"best\"}", "404 ports/3001/255 {\"up\":false}",
                "422 classes/3001 " + rules.replace("\"port\":1", "\"port\":2"), "422 classes/3001 " + rules.replace("800000", "7999")}) {
                String[] parts = wrong.split(" ", -1);
                assertEquals(Integer.parseInt(parts[0]), call(controller, "ring/" + parts[1], parts[2]).statusCode(), wrong);
            }
            assertEquals(405, call(controller, "ring/spans", "{}").statusCode());
            String metrics = awaitMetric(controller, "slotwise_controller_ring_reroutes_total 1.0");
            assertTrue(call(controller, "ring/ways", null).body()
                    .startsWith("{\"stations\":[{\"station\":0,\"ways\":[{\"to\":1,\"ringlet\":1,\"hops\":3}"));
            assertTrue(metrics.contains("slotwise_controller_ring_reports_refused_total{reason=\"stale\"} 0.0"), metrics);
        }
        assertEquals(List.of("weight 1 7"), audited("ring", "setting", "before", "after").subList(0, 1));
        ObjectNode ring = (ObjectNode) node.at("/network/apps/ring");
        ((ObjectNode) ring.at("/stations/0/classes/1")).put("rate_bps", 4_000_000);
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertTrue(call(controller, "ring/weights", null).body().contains(weight));
            assertEquals("{\"mode\":\"controller\"}", call(controller, "ring/mode", null).body());
            String held = call(controller, "ring/classes", null).body();
            assertTrue(held.contains("4000000") && !held.contains(":800000}"), "configured otherwise: " + held);
        }
        ObjectNode noProgram = configuration("network-ring.json");
        ((ObjectNode) noProgram.get("pipelines")).remove("ring");
        checkRefused("pipelines.ring: missing", noProgram);
    }

    @Test
    void opticalPacketSwitchesAreConfiguredACutIsRoutedAroundAndChoicesHoldUntilTheyAreConfiguredOtherwise() throws Exception {
        serve(4001, 4002, 4003, 5001, 5002, 5003);
        String target = "{\"device_id\":4002,\"port\":257,\"target\":0.5}";
        String weight = "{\"class\":1,\"weight\":4.5}";
        ObjectNode node = configuration("network-ops-trains.json");
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            assertTrue(call(controller, "ops/status", null).body().startsWith("{\"configured\":true,\"name\":\"triangle\",\"switches\":3,"
                    + "\"switches_ready\":3,\"edges\":3,\"edges_ready\":3"));
            assertEquals(target, set(controller, "ops/targets", target, "device_id", "port").body());
            assertEquals(404, set(controller, "ops/targets", target.replace("257", "258"), "device_id", "port").statusCode());
            assertEquals(weight, set(controller, "ops/weights", weight, "class").body());
            assertEquals(404, set(controller, "ops/weights", weight.replace("1,", "3,"), "class").statusCode());
            String dark = "{\"device_id\":4001,\"port\":256,\"up\":false}";
            assertEquals(dark, set(controller, "ops/ports", dark, "device_id", "port").body());
            awaitMetric(controller, "slotwise_controller_ops_reroutes_total 1.0");
            assertTrue(call(controller, "ops/routes", null).body().contains("{\"edge\":1,\"fibres\":[1]}"));
        }
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertTrue(call(controller, "ops/targets", null).body().contains(target));
            assertTrue(call(controller, "ops/weights", null).body().contains(weight));
        }
        ((ObjectNode) node.at("/network/apps/ops")).put("target", 0.8);
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertFalse(call(controller, "ops/targets", null).body().contains(target), "configured otherwise");
            assertTrue(call(controller, "ops/weights", null).body().contains(weight), "a choice of its own");
        }
        ((ObjectNode) node.at("/network/apps/ops/classes/2")).put("weight", 2);
        try (StandaloneController controller = StandaloneController.start(read(node))) {
            assertFalse(call(controller, "ops/weights", null).body().contains(weight), "configured otherwise");
        }
        ((ObjectNode) node.get("pipelines")).remove("ops");
        checkRefused("pipelines.ops: missing", node);
    }

    /** All metrics, when one of them has come to what it is to be. */
    private static String awaitMetric(StandaloneController controller, String line) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_S);
        while (true) {
            String metrics = HttpClient.newHttpClient().send(
                    HttpRequest.newBuilder(URI.create(controller.restUrl() + "/metrics")).build(), HttpResponse.BodyHandlers.ofString()).body();
            if (metrics.contains(line) || System.nanoTime() > end) {
                assertTrue(metrics.contains(line), metrics);
                return metrics;
            }
        }
    }

    @Test
    void wrongConfigurationIsRefusedWithThePlace() throws IOException {
        checkRefused("clock: expected wall or lockstep, got 'sundial'", configuration().put("clock", "sundial"));
        checkRefused("stor: unknown field; did you mean 'store'?", configuration().put("stor", "x"));
        ObjectNode port = configuration();
        ((ObjectNode) port.get("rest")).put("port", 70_000);
        checkRefused("rest.port: expected an integer 0 .. 65535, got 70000", port);
        ObjectNode network = configuration();
        ((ObjectNode) network.at("/network/frame")).put("slots", 4);
        checkRefused("network.frame.slots: expected at least 5 slots for 4 edges (one signaling slot each),"
                + " got 4", network);
        ObjectNode info = configuration();
        checkRefused("log.format: expected text or json, got 'xml'",
                configuration().set("log", JSON.createObjectNode().put("format", "xml")));
        ObjectNode halfTls = configuration();
        ((ObjectNode) halfTls.get("p4runtime")).putObject("tls").put("ca", "ca.pem").put("key", "client.key");
        checkRefused("p4runtime.tls: expected both 'certificate' and 'key', or neither", halfTls);
        ObjectNode noFile = configuration();
        ((ObjectNode) noFile.get("p4runtime")).putObject("tls").put("ca", "no-such-file.pem");
        assertTrue(assertThrows(IOException.class, () -> read(noFile)).getMessage().contains("no-such-file.pem"));
        Path notText = directory.resolve("garbage.txt");
        Files.writeString(notText, "tables { preamble {");
        ((ObjectNode) info.at("/pipelines/edge")).put("p4info", notText.toString());
        assertTrue(assertThrows(IOException.class, () -> read(info)).getMessage().contains("garbage.txt"));
    }

    private void checkRefused(String message, ObjectNode node) {
        assertEquals(message, assertThrows(InvalidJsonException.class, () -> read(node)).getMessage());
    }
}
