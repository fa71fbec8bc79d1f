// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slotwise.p4runtime.FakeP4Runtime;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.star.Networks;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.schedule.Kinds;

class StandaloneControllerTest {
    private static final long TIMEOUT_S = 20;
    private static final Path REPOSITORY = Path.of("../..").toAbsolutePath().normalize();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final SchedulerChosen FAIR = Networks.scheduler(Kinds.FAIR);
    private static final SchedulerChosen ROTATION = Networks.scheduler(Kinds.ROTATION);

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

    @Test
    void configuresSwitchesAndKeepsTheChosenSchedulerOverARestart() throws Exception {
        for (String clock : new String[] {"wall", "lockstep"}) {
            Configuration configuration = read(configuration().put("clock", clock));
            try (StandaloneController controller = StandaloneController.start(configuration)) {
                controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
                assertTrue(call(controller, "status", null).body().contains("\"configured\":true"));
                assertEquals(200, call(controller, "scheduler", "{\"name\":\"rotation\"}").statusCode());
            }
        }
        try (StandaloneController controller = StandaloneController.start(read(configuration()))) {
            assertTrue(call(controller, "scheduler", null).body().startsWith("{\"name\":\"rotation\""));
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
            assertEquals(200, call(controller, "scheduler", "{\"name\":\"islip\"}").statusCode());
            assertEquals(422, call(controller, "scheduler", "{\"name\":\"eyeslip\"}").statusCode());
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
            assertEquals(200, call(controller, "shutdown", "{\"core\":1,\"shut_down\":true}").statusCode());
        }
        try (StandaloneController controller = StandaloneController.start(configuration)) {
            assertTrue(call(controller, "shutdown", null).body()
                    .contains("{\"core\":1,\"master\":1,\"shut_down\":true}"));
            assertEquals(200, call(controller, "shutdown", "{\"core\":1,\"shut_down\":false}").statusCode());
        } finally {
            cores.close();
        }
        List<String> events = new ArrayList<>();
        for (String line : Files.readAllLines(configuration.store().resolve("audit.jsonl"))) {
            JsonNode entry = JSON.readTree(line);
            if (entry.get("event").textValue().equals("shutdown")) {
                events.add(entry.get("core") + " " + entry.get("before") + " " + entry.get("after"));
            }
        }
        assertEquals(List.of("1 false true", "1 true false"), events);
    }

    @Test
    void whatCannotBeKeptIsRefusedAndChangesNothing() throws Exception {
        Configuration configuration = read(configuration());
        try (StandaloneController controller = StandaloneController.start(configuration)) {
            Files.createDirectory(configuration.store().resolve("controller.store.next"));
            HttpResponse<String> refused = call(controller, "scheduler", "{\"name\":\"islip\"}");
            assertEquals(507, refused.statusCode());
            assertTrue(refused.body().contains("cannot be written"), refused.body());
            assertTrue(call(controller, "scheduler", null).body().startsWith("{\"name\":\"fair\""));
            Files.delete(configuration.store().resolve("controller.store.next"));
            assertEquals(200, call(controller, "scheduler", "{\"name\":\"islip\"}").statusCode());
        }
    }

    // ---- several applications ----

    private ObjectNode configuration(String network) throws IOException {
        ObjectNode node = configuration();
        ((ObjectNode) node.get("pipelines")).putObject("router")
                .put("json", REPOSITORY.resolve("p4src/p4c-out/router.json").toString())
                .put("p4info", REPOSITORY.resolve("p4src/p4c-out/router.p4info.txtpb").toString());
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
                JsonNode apps = JSON.readTree(call(controller, "apps", null).body()).get("apps");
                assertEquals(List.of("star", "routes"), List.of(apps.get(0).get("id").textValue(), apps.get(1).get("id").textValue()));
                assertTrue(call(controller, "status", null).body().contains("\"configured\":true"));
                assertTrue(call(controller, "apps/routes/status", null).body().startsWith("{\"configured\":true,\"routers\":3"));
                assertEquals(200, call(controller, "apps/routes/capacities",
                        "{\"device_id\": 2001, \"port\": 2, \"xcp_bps\": 5000000}").statusCode());
            }
        }
        try (StandaloneController controller = StandaloneController.start(read(configuration("network-mixed.json")))) {
            assertTrue(call(controller, "apps/routes/capacities", null).body()
                    .contains("{\"device_id\":2001,\"port\":2,\"xcp_bps\":5000000}"));
            assertEquals(422, call(controller, "apps/routes/capacities",
                    "{\"device_id\": 2003, \"port\": 1, \"xcp_bps\": 5000000}").statusCode());
        }
    }

    @Test
    void routersAloneNeedNoStar() throws Exception {
        serve(2001, 2002, 2003);
        try (StandaloneController controller = StandaloneController.start(read(configuration("network-routers.json")))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            JsonNode routes = JSON.readTree(call(controller, "apps/routes/routes", null).body());
            assertEquals("10.1.0.0/16", routes.at("/routers/0/routes/1/prefix").textValue());
            assertTrue(routes.at("/routers/0/settled").booleanValue());
            assertEquals(404, call(controller, "status", null).statusCode());
            assertEquals(404, call(controller, "apps/star", null).statusCode());
        }
        ObjectNode noProgram = configuration("network-routers.json");
        ((ObjectNode) noProgram.get("pipelines")).remove("router");
        checkRefused("pipelines.router: missing", noProgram);
    }

    @Test
    void wrongConfigurationIsRefusedWithThePlace() throws IOException {
        checkRefused("clock: must be wall or lockstep, got 'sundial'", configuration().put("clock", "sundial"));
        checkRefused("stor: unknown field; did you mean 'store'?", configuration().put("stor", "x"));
        ObjectNode port = configuration();
        ((ObjectNode) port.get("rest")).put("port", 70_000);
        checkRefused("rest.port: an integer 0 .. 65535 is needed, got 70000", port);
        ObjectNode network = configuration();
        ((ObjectNode) network.at("/network/frame")).put("slots", 4);
        checkRefused("network.frame.slots: each edge takes one slot for signaling, so 4 edges need at least 5 slots,"
                + " got 4", network);
        ObjectNode info = configuration();
        checkRefused("log.format: must be text or json, got 'xml'",
                configuration().set("log", JSON.createObjectNode().put("format", "xml")));
        ObjectNode halfTls = configuration();
        ((ObjectNode) halfTls.get("p4runtime")).putObject("tls").put("ca", "ca.pem").put("key", "client.key");
        checkRefused("p4runtime.tls: 'certificate' and 'key' are needed both, or neither", halfTls);
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
