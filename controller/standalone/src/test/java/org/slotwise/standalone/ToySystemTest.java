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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slotwise.rest.system.toy.ToySystem;
import org.slotwise.p4runtime.FakeP4Runtime;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.Systems;

/** An application that only the list of applications names has all that others have. */
class ToySystemTest {
    private static final long TIMEOUT_S = 20;
    private static final long DEVICE = 5001;
    private static final Path PROGRAMS = Path.of("../../p4src/p4c-out").toAbsolutePath().normalize();
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path directory;
    private FakeP4Runtime switches;

    @BeforeEach
    void startSwitches() throws IOException {
        switches = new FakeP4Runtime(DEVICE);
    }

    @AfterEach
    void stopSwitches() throws InterruptedException {
        switches.close();
    }

    private Configuration read(String address, int level, String program) throws IOException, InvalidJsonException {
        ObjectNode node = JSON.createObjectNode();
        node.putObject("p4runtime").put("address", address);
        node.putObject("rest").put("host", "127.0.0.1").put("port", 0);
        node.put("store", directory.resolve("store").toString()).put("clock", "wall");
        node.putObject("pipelines").putObject(program)
                .put("json", PROGRAMS.resolve("core.json").toString()).put("p4info", PROGRAMS.resolve("core.p4info.txtpb").toString());
        node.putObject("network").putObject("apps").putObject("toy").put("device_id", DEVICE).put("level", level);
        Path file = directory.resolve("controller.json");
        JSON.writeValue(file.toFile(), node);
        return Configuration.read(file, Systems.all().and(new ToySystem()));
    }

    private static String call(StandaloneController controller, String resource, String body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(controller.restUrl() + "/" + resource));
        if (body != null) {
            request.PUT(HttpRequest.BodyPublishers.ofString(body)).header("Content-Type", "application/json");
        }
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        return answer.statusCode() + " " + answer.body();
    }

    @Test
    void itsDocumentResourcesMetricsChoicesAndAuditAreThere() throws Exception {
        try (StandaloneController controller = StandaloneController.start(read(switches.address(), 3, "toy"))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            assertEquals("200 {\"systems\":[{\"id\":\"toy\",\"description\":\"A level, and nothing else.\","
                    + "\"resources\":[{\"name\":\"level\",\"can_change\":true}]}]}", call(controller, "slotwise/v1", null));
            assertEquals("200 {\"level\":3}", call(controller, "slotwise/v1/toy/level", null));
            assertEquals("200 {\"level\":7}", call(controller, "slotwise/v1/toy/level", "{\"level\": 7}"));
            assertTrue(call(controller, "slotwise/v1/toy/level", "{\"level\": 10}").startsWith("422 "));
            String metrics = call(controller, "metrics", null);
            assertTrue(metrics.contains("\nslotwise_controller_toy_level 7.0\n"), metrics);
            assertTrue(call(controller, "slotwise/v1/star/status", null).contains("unknown system; expected one of toy"));
        }
        try (StandaloneController controller = StandaloneController.start(read(switches.address(), 3, "toy"))) {
            controller.configured().get(TIMEOUT_S, TimeUnit.SECONDS);
            assertEquals("200 {\"level\":7}", call(controller, "slotwise/v1/toy/level", null), "kept over the restart");
        }
        List<String> audited = new ArrayList<>();
        for (String line : Files.readAllLines(directory.resolve("store/audit.jsonl"))) {
            JsonNode entry = JSON.readTree(line);
            audited.add(entry.get("event").textValue() + " " + entry.path("status").asText(entry.path("before") + " " + entry.path("after")));
        }
        assertEquals(List.of("level 3 7", "request 200", "request 422"), audited);
    }

    @Test
    void itsLimitsAndItsProgramAreCheckedWithTheConfiguration() {
        assertEquals("network.apps.toy.level: expected an integer 0 .. 9, got 10",
                assertThrows(InvalidJsonException.class, () -> read("127.0.0.1:1", 10, "toy")).getMessage());
        assertEquals("pipelines.toy: missing", assertThrows(InvalidJsonException.class, () -> read("127.0.0.1:1", 3, "core")).getMessage());
    }
}
