// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import javax.ws.rs.HttpMethod;
import javax.ws.rs.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slotwise.core.schedule.SchedulerKind;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.SlotwiseApplication;

class RestServerTest {
    private static final String BASE = "/slotwise/v1/";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient client = HttpClient.newHttpClient();
    private final RunningController controller = new RunningController();
    private RestServer server;

    @BeforeEach
    void start() throws IOException {
        server = RestServer.start("127.0.0.1", 0, controller);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private HttpResponse<String> send(String method, String path, String contentType, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(server.url() + path))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        if (contentType != null) {
            request.header("Content-Type", contentType);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode get(String resource) throws IOException, InterruptedException {
        HttpResponse<String> response = send("GET", BASE + resource, null, null);
        assertEquals(200, response.statusCode(), response::body);
        return JSON.readTree(response.body());
    }

    private HttpResponse<String> put(String body) throws IOException, InterruptedException {
        return send("PUT", BASE + "scheduler", "application/json", body);
    }

    // ---- the document ----

    @Test
    void everyPathOfTheDocumentAnswersAsDescribed() throws Exception {
        JsonNode document = get("openapi.json");
        for (Map.Entry<String, JsonNode> path : document.get("paths").properties()) {
            HttpResponse<String> response = send("GET", path.getKey(), null, null);
            JsonNode described = path.getValue().at("/get/responses/200/content");
            String type = described.fieldNames().next();
            assertEquals(200, response.statusCode(), path::getKey);
            assertEquals(type, response.headers().firstValue("Content-Type").orElseThrow());
            if (type.equals("application/json")) {
                checkSchema(document, described.get(type).get("schema"), response.body());
            }
        }
    }

    @Test
    void everyResourceIsInTheDocumentAndNoOther() throws Exception {
        Set<String> served = new TreeSet<>();
        for (Object resource : new SlotwiseApplication(controller).getSingletons()) {
            Path base = resource.getClass().getAnnotation(Path.class);
            for (Method method : resource.getClass().getMethods()) {
                for (java.lang.annotation.Annotation annotation : method.getAnnotations()) {
                    HttpMethod verb = annotation.annotationType().getAnnotation(HttpMethod.class);
                    if (base != null && verb != null) {
                        served.add(verb.value() + " /" + base.value() + "/" + method.getAnnotation(Path.class).value());
                    }
                }
            }
        }
        Set<String> described = new TreeSet<>();
        get("openapi.json").get("paths").properties().forEach(path -> path.getValue().fieldNames().forEachRemaining(
                verb -> described.add(verb.toUpperCase(java.util.Locale.ROOT) + " " + path.getKey())));
        assertEquals(described, served);
    }

    private static void checkSchema(JsonNode document, JsonNode schema, String body) throws IOException {
        ObjectNode standalone = schema.deepCopy();
        standalone.set("components", document.get("components"));
        JsonNode value = JSON.readTree(body);
        assertEquals(Set.of(), JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(standalone).validate(value), body);
    }

    // ---- what the resources say ----

    @Test
    void scheduleShowsTheHotPairInTheSlotTablesOfEdgeAndCore() throws Exception {
        JsonNode schedule = get("schedule");
        int fromEdge = 0;
        for (JsonNode slot : schedule.at("/edges/1/slots")) {
            fromEdge += slot.get("use").textValue().equals("data") && slot.get("to").intValue() == 2 ? 1 : 0;
        }
        int atCore = 0;
        for (JsonNode slot : schedule.at("/cores/0/slots")) {
            for (JsonNode connection : slot.get("connections")) {
                atCore += connection.get("from").intValue() == 1 && connection.get("to").intValue() == 2 ? 1 : 0;
            }
        }
        assertEquals(16, fromEdge);
        assertEquals(16, atCore);
        assertTrue(schedule.get("version").longValue() > 0);
    }

    @Test
    void demandAndStatisticsAreThere() throws Exception {
        for (JsonNode pair : get("demand").get("pairs")) {
            if (pair.get("from").intValue() == 1 && pair.get("to").intValue() == 2) {
                assertEquals(400_000, pair.get("backlog_bytes").intValue());
                assertEquals(16, pair.get("granted_slots").intValue());
            }
        }
        assertEquals(32, get("statistics").at("/requests/received").intValue());
        assertEquals(5, get("status").get("devices_ready").intValue());
        assertTrue(get("status").get("configured").booleanValue());
    }

    @Test
    void schedulerIsChosenWithDefaultsForWhatIsMissing() throws Exception {
        HttpResponse<String> response = put("{\"name\":\"fair\",\"settings\":{\"order\":\"contiguous\"}}");
        assertEquals(200, response.statusCode());
        assertEquals(JSON.readTree("{\"name\":\"fair\",\"settings\":{\"order\":\"contiguous\",\"share\":\"equal\"}}"),
                JSON.readTree(response.body()));
        assertEquals("contiguous", get("scheduler").at("/settings/order").textValue());
        assertEquals(SchedulerKind.values().length, get("scheduler").get("available").size());
    }

    // ---- what is refused ----

    private void checkProblem(int status, String detail, HttpResponse<String> response) throws IOException {
        assertEquals(status, response.statusCode(), response::body);
        assertEquals("application/problem+json", response.headers().firstValue("Content-Type").orElse("none"));
        JsonNode problem = JSON.readTree(response.body());
        assertEquals(status, problem.get("status").intValue());
        assertTrue(problem.get("detail").textValue().contains(detail), response::body);
        assertFalse(response.body().contains("Exception"), response::body);
        assertFalse(response.body().contains("\tat "), response::body);
    }

    @Test
    void badChoicesAreRefusedWithTheReasonAndChangeNothing() throws Exception {
        JsonNode before = get("scheduler");
        checkProblem(400, "got nothing", put(""));
        checkProblem(400, "not JSON", put("{\"name\":"));
        checkProblem(400, "not JSON", put("{\"name\":\"fair\"} x"));
        checkProblem(400, "Duplicate", put("{\"name\":\"fair\",\"name\":\"rotation\"}"));
        checkProblem(400, "not JSON", put("[".repeat(5000)));
        checkProblem(422, "an object is needed", put("[]"));
        checkProblem(422, "name: missing", put("{}"));
        checkProblem(422, "name: text is needed", put("{\"name\":7}"));
        checkProblem(422, "there are fair, rotation", put("{\"name\":\"fare\"}"));
        checkProblem(422, "did you mean 'settings'", put("{\"name\":\"fair\",\"setings\":{}}"));
        checkProblem(422, "must be one of equal, proportional",
                put("{\"name\":\"fair\",\"settings\":{\"share\":\"all\"}}"));
        checkProblem(422, "it has share, order", put("{\"name\":\"fair\",\"settings\":{\"colour\":\"red\"}}"));
        checkProblem(413, "at most", put("{\"name\":\"" + "x".repeat(20_000) + "\"}"));
        checkProblem(415, "application/json", send("PUT", BASE + "scheduler", "text/plain", "fair"));
        assertEquals(before, get("scheduler"));
    }

    @Test
    void unknownPathsAndMethodsAreProblems() throws Exception {
        checkProblem(404, "openapi.json", send("GET", "/", null, null));
        checkProblem(404, "openapi.json", send("GET", BASE + "nothing", null, null));
        checkProblem(404, "openapi.json", send("GET", BASE + "../../etc/passwd", null, null));
        HttpResponse<String> notAllowed = send("DELETE", BASE + "scheduler", null, null);
        checkProblem(405, "PUT", notAllowed);
        assertTrue(notAllowed.headers().firstValue("Allow").orElse("").contains("GET"));
        checkProblem(405, "GET", send("POST", BASE + "status", "application/json", "{}"));
    }

    @Test
    void controllerThatDoesNotAnswerIsUnavailable() throws Exception {
        controller.failWith(new ControllerService.UnavailableException("the controller does not answer", null));
        checkProblem(503, "does not answer", send("GET", BASE + "status", null, null));
    }

    @Test
    void defectIsReportedWithoutItsTrace() throws Exception {
        controller.failWith(new IllegalStateException("secret"));
        HttpResponse<String> response = send("GET", BASE + "status", null, null);
        checkProblem(500, "unexpected", response);
        assertFalse(response.body().contains("secret"));
    }

    @Test
    void portThatIsTakenIsNamed() {
        int port = URI.create(server.url()).getPort();
        IOException refusal = assertThrows(IOException.class, () -> RestServer.start("127.0.0.1", port, controller));
        assertTrue(refusal.getMessage().contains("127.0.0.1:" + port));
    }
}
