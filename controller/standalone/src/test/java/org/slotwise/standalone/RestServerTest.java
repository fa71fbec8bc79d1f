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
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.ProblemTitle;
import org.slotwise.rest.SlotwiseApplication;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.systems.lambda.rest.LambdaSystem;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Schedulers;

class RestServerTest {
    private static final String BASE = "/slotwise/v1/";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final java.nio.file.Path BAD = java.nio.file.Path.of("../rest/src/test/resources/bad");

    private final HttpClient client = HttpClient.newHttpClient();
    @TempDir
    private java.nio.file.Path directory;
    private static final int TIMEOUT_S = 60;
    private ServedController served;

    @BeforeEach
    void start() throws Exception {
        served = new ServedController(directory);
        served.start(ServedController.manyRequests(), Connections.Limits.DEFAULT);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    private HttpResponse<String> send(String method, String path, String contentType, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = request(method, path, body);
        return send(contentType == null ? request : request.header("Content-Type", contentType));
    }

    private HttpRequest.Builder request(String method, String path, String body) {
        return HttpRequest.newBuilder(URI.create(served.url() + path))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode get(String resource) throws IOException, InterruptedException {
        HttpResponse<String> response = send("GET", BASE + resource, null, null);
        assertEquals(200, response.statusCode(), response::body);
        return JSON.readTree(response.body());
    }

    private HttpResponse<String> put(String body) throws IOException, InterruptedException {
        return send("PUT", BASE + "star/scheduler", "application/json", body);
    }

    // ---- the document ----

    @Test
    void everyPathOfTheDocumentAnswersAsDescribed() throws Exception {
        JsonNode document = get("openapi.json");
        for (Map.Entry<String, JsonNode> path : ofStar(document)) {
            HttpResponse<String> response = send("GET", example(path.getKey()), null, null);
            JsonNode described = path.getValue().at("/get/responses/200/content");
            String type = described.fieldNames().next();
            assertEquals(200, response.statusCode(), path::getKey);
            assertEquals(type, response.headers().firstValue("Content-Type").orElseThrow());
            if (type.equals("application/json")) {
                checkSchema(document, described.get(type).get("schema"), response.body());
            }
        }
    }

    private static List<Map.Entry<String, JsonNode>> ofStar(JsonNode document) {
        return document.get("paths").properties().stream().filter(path -> !path.getKey().matches(BASE + "(?!star/)[a-z]+/.*")).toList();
    }

    private static String example(String path) {
        return path.replace("{system}", "star").replace("{core}", "0");
    }

    @Test
    void everyPathAnswersAsDescribedForSeveralCores() throws Exception {
        serveTwins();
        everyPathOfTheDocumentAnswersAsDescribed();
    }

    private void serveTwins() throws Exception {
        serve(Networks.overlaid(4, 20, 2));
    }

    private void serve(Network network) throws Exception {
        served.serve(ServedController.manyRequests(), new RunningController(network), Connections.Limits.DEFAULT);
    }

    @Test
    void membersOfSeveralStarsSayOfWhichTheyAre() throws Exception {
        serve(Networks.byInvitation(Networks.overlaid(4, 20, 2)));
        everyPathOfTheDocumentAnswersAsDescribed();
        List<String> members = new ArrayList<>();
        get("star/members").get("members").forEach(member -> members.add(member.get("core") + ":" + member.get("edge")));
        assertEquals(List.of("0:1", "0:2", "0:3", "1:0", "1:2", "1:3"), members);
    }

    @Test
    void outOfBandNoSlotIsShownAsASignalingSlot() throws Exception {
        serve(Networks.outOfBand(Networks.star(4, 20)));
        JsonNode schedule = get("star/schedule");
        assertEquals(0, schedule.get("first_data_slot").intValue());
        assertFalse(schedule.toString().contains("signaling"), schedule::toString);
    }

    @Test
    void everyResourceIsInTheDocumentAndNoOther() throws Exception {
        Set<String> resources = new TreeSet<>();
        for (Object resource : new SlotwiseApplication(served.controller()).getSingletons()) {
            Path base = resource.getClass().getAnnotation(Path.class);
            for (Method method : resource.getClass().getMethods()) {
                Path below = method.getAnnotation(Path.class);
                if (base != null && (below != null || method.isAnnotationPresent(GET.class))) {
                    resources.add("/" + base.value() + (below == null ? "" : "/" + below.value()));
                }
            }
        }
        Set<String> described = new TreeSet<>();
        get("openapi.json").get("paths").fieldNames().forEachRemaining(path -> described.add(path
                .replaceFirst("/v1/[a-z]+/.+", "/v1/{system}/{path: .+}")));
        assertEquals(described, resources);
    }

    @Test
    void everyResourceAllowsTheMethodsOfTheDocumentAndNoOthers() throws Exception {
        for (Map.Entry<String, JsonNode> path : ofStar(get("openapi.json"))) {
            Set<String> methods = new TreeSet<>(Set.of("HEAD", "OPTIONS"));
            path.getValue().fieldNames().forEachRemaining(verb -> methods.add(verb.toUpperCase(Locale.ROOT)));
            methods.remove("PARAMETERS");
            checkMethods(example(path.getKey()), methods);
        }
        checkMethods(BASE + "star/shutdown", Set.of("GET", "HEAD", "OPTIONS"));
        checkMethods(BASE + "star/shutdown/0", Set.of("GET", "HEAD", "OPTIONS", "PUT"));
        checkMethods(BASE + "star/status", Set.of("GET", "HEAD", "OPTIONS"));
    }

    private void checkMethods(String path, Set<String> allowed) throws Exception {
        assertEquals(allowed, allow(send("OPTIONS", path, null, null)), path);
        assertEquals(200, send("HEAD", path, null, null).statusCode(), path);
        for (String method : List.of("DELETE", "PATCH", "POST", "PUT")) {
            if (!allowed.contains(method)) {
                HttpResponse<String> refused = send(method, path, "application/json", "{}");
                checkProblem(405, "HEAD", refused);
                assertEquals(allowed, allow(refused), method + " " + path);
            }
        }
    }

    private static Set<String> allow(HttpResponse<String> response) {
        return new TreeSet<>(List.of(response.headers().firstValue("Allow").orElse("none").split(", *")));
    }

    private static void checkSchema(JsonNode document, JsonNode schema, String body) throws IOException {
        ObjectNode standalone = schema.deepCopy();
        standalone.set("components", document.get("components"));
        JsonNode value = JSON.readTree(body);
        assertEquals(Set.of(), JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(standalone).validate(value), body);
    }

    // ---- applications ----

    @Test
    void applicationsAndTheirResourcesAreListed() throws Exception {
        JsonNode star = JSON.readTree(send("GET", "/slotwise/v1", null, null).body()).at("/systems/0");
        assertEquals(get("star"), star);
        assertEquals(List.of("status", "topology", "nodes", "members", "demand", "schedule", "statistics", "scheduler", "shutdown"),
                star.get("resources").findValuesAsText("name"));
        assertEquals(List.of("false", "false", "false", "false", "false", "false", "false", "true", "true"),
                star.get("resources").findValuesAsText("can_change"));
    }

    @Test
    void anApplicationsResourceCanBeChanged() throws Exception {
        assertEquals(200, send("PUT", BASE + "star/scheduler", "application/json", "{\"name\": \"islip\"}").statusCode());
        assertEquals("islip", get("star/scheduler").get("name").textValue());
        assertEquals(422, send("PUT", BASE + "star/scheduler", "application/json", "{\"name\": \"x\"}").statusCode());
    }

    @Test
    void whatIsNotThereIsSaidWithWhatThereIs() throws Exception {
        HttpResponse<String> noApp = send("GET", BASE + "ring", null, null);
        assertEquals(404, noApp.statusCode());
        assertTrue(noApp.body().contains("expected one of star"), noApp::body);
        HttpResponse<String> noResource = send("GET", BASE + "star/light", null, null);
        assertEquals(404, noResource.statusCode());
        assertTrue(noResource.body().contains("expected one of status, topology"), noResource::body);
        checkProblem(404, "unknown system; expected one of star", send("GET", BASE + "nothing/status", null, null));
        assertEquals(404, send("PUT", BASE + "star/light", "application/json", "{}").statusCode());
        checkProblem(405, "GET", send("PUT", BASE + "star/shutdown", "application/json", "{\"core\": 0, \"shut_down\": true}"));
        assertEquals(405, send("PUT", BASE + "star/status", "application/json", "{}").statusCode());
        assertEquals(405, send("DELETE", BASE + "star/status", null, null).statusCode());
    }

    @Test
    void eachPlaceHasAPathOfItsOwn() throws Exception {
        serveTwins();
        String master = BASE + "star/shutdown/1";
        JsonNode down = JSON.readTree("{\"core\":1,\"master\":1,\"shut_down\":true}");
        assertEquals(down, JSON.readTree(send("PUT", master, "application/json", "{\"shut_down\":true}").body()));
        assertEquals(down, get("star/shutdown/1"));
        checkProblem(422, "core: unknown field", send("PUT", master, "application/json", "{\"core\":1,\"shut_down\":true}"));
        checkProblem(400, "not JSON", send("PUT", master, "application/json", "{"));
        checkProblem(415, "application/json", send("PUT", master, "text/plain", "{}"));
        checkProblem(404, "unknown core 7; expected one of 0, 1", send("GET", BASE + "star/shutdown/7", null, null));
        for (String nowhere : List.of("shutdown/8", "shutdown/x", "shutdown/1/1", "shutdown/01", "scheduler/1", "shutdown/1/1/")) {
            checkProblem(404, "nothing at this place", send("GET", BASE + "star/" + nowhere, null, null));
            checkProblem(404, "nothing at this place", send("PUT", BASE + "star/" + nowhere, "application/json", "{\"shut_down\":true}"));
        }
        checkProblem(404, "unknown resource", send("GET", BASE + "star/nothing/1", null, null));
    }

    @Test
    void whatCanGoIsDeleted() throws Exception {
        JsonNode network = JSON.readTree(java.nio.file.Path.of("../../schema/examples/network-lambda.json").toFile()).at("/apps/lambda");
        List<SystemResources<?>> apps = List.of(OneSystem.of(new LambdaSystem().read("", network)));
        served.serve(ServedController.manyRequests(), () -> apps, Connections.Limits.DEFAULT);
        String session = BASE + "lambda/sessions/7";
        checkProblem(404, "unknown session '7'", send("DELETE", session, null, null));
        assertEquals(200, send("PUT", session, "application/json", "{\"source\":\"ucsd-0\",\"sink\":\"uva-0\",\"lease_ms\":5000}").statusCode());
        assertEquals("7", get("lambda/sessions/7").get("session").textValue());
        HttpResponse<String> gone = send("DELETE", session, null, null);
        assertEquals("204 ", gone.statusCode() + " " + gone.body());
        checkProblem(404, "unknown session '7'", send("GET", session, null, null));
        checkProblem(422, "invalid session name", send("PUT", BASE + "lambda/sessions/a.b", "application/json",
                "{\"source\":\"ucsd-0\",\"sink\":\"uva-0\"}"));
        checkProblem(405, "DELETE", send("POST", session, "application/json", "{}"));
        checkProblem(405, "HEAD", send("DELETE", BASE + "lambda/sessions", null, null));
    }

    // ---- what the resources say ----

    @Test
    void scheduleShowsTheHotPairInTheSlotTablesOfEdgeAndCore() throws Exception {
        JsonNode schedule = get("star/schedule");
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
        for (JsonNode pair : get("star/demand").get("pairs")) {
            if (pair.get("from").intValue() == 1 && pair.get("to").intValue() == 2) {
                assertEquals(400_000, pair.get("backlog_bytes").intValue());
                assertEquals(16, pair.get("granted_slots").intValue());
            }
        }
        assertEquals(32, get("star/statistics").at("/requests/received").intValue());
        assertEquals(5, get("star/status").get("devices_ready").intValue());
        assertTrue(get("star/status").get("configured").booleanValue());
    }

    @Test
    void schedulerIsChosenWithDefaultsForWhatIsMissing() throws Exception {
        HttpResponse<String> response = put("{\"name\":\"fair\",\"settings\":{\"order\":\"contiguous\"}}");
        assertEquals(200, response.statusCode());
        assertEquals(JSON.readTree("{\"name\":\"fair\",\"settings\":{\"estimator\":\"ewma\",\"order\":\"contiguous\",\"share\":\"equal\",\"weights\":\"\"}}"),
                JSON.readTree(response.body()));
        assertEquals("contiguous", get("star/scheduler").at("/settings/order").textValue());
        assertEquals(Schedulers.ours().all().size(), get("star/scheduler").get("available").size());
    }

    @Test
    void severalStarsAreShownEachAndTogether() throws Exception {
        serveTwins();
        JsonNode status = get("star/status");
        assertEquals(6, status.get("devices").intValue());
        assertTrue(status.get("version").isNull());
        assertEquals("steady", status.at("/stars/1/phase").textValue());
        assertTrue(status.at("/stars/0/version").longValue() > 0);
        assertEquals(4, status.at("/stars/0/usable_edges").size());
        for (JsonNode pair : get("star/demand").get("pairs")) {
            if (pair.get("from").intValue() == 1 && pair.get("to").intValue() == 2) {
                assertEquals(800_000, pair.get("backlog_bytes").intValue());
                assertEquals(32, pair.get("granted_slots").intValue());
                assertEquals(8, pair.at("/stars/1/parts").intValue());
                assertEquals(16, pair.at("/stars/1/granted_slots").intValue());
            }
        }
        assertEquals(8, get("star/schedule").get("edges").size());
        assertEquals(2, get("star/schedule").get("cores").size());
        String metrics = send("GET", "/metrics", null, null).body();
        assertTrue(metrics.contains("slotwise_controller_star_live{core=\"1\"} 1.0"), metrics);
        assertTrue(metrics.contains("slotwise_controller_parts{core=\"0\",from=\"1\",to=\"2\"} 8.0"), metrics);
    }

    @Test
    void masterIsShutDownAndTakenBack() throws Exception {
        serveTwins();
        for (boolean down : new boolean[] {true, false}) {
            HttpResponse<String> response =
                    send("PUT", BASE + "star/shutdown/1", "application/json", "{\"shut_down\":" + down + "}");
            assertEquals(200, response.statusCode(), response::body);
            assertEquals(JSON.readTree("{\"core\":1,\"master\":1,\"shut_down\":" + down + "}"),
                    JSON.readTree(response.body()));
            assertEquals(down, get("star/shutdown").at("/masters/1/shut_down").booleanValue());
            assertFalse(get("star/shutdown").at("/masters/0/shut_down").booleanValue());
        }
    }

    @Test
    void onlyMasterOfAStaticStarIsNotShutDown() throws Exception {
        checkProblem(409, "static membership",
                send("PUT", BASE + "star/shutdown/0", "application/json", "{\"shut_down\":true}"));
    }

    // ---- what is refused ----

    private void checkProblem(int status, String detail, HttpResponse<String> response) throws IOException {
        assertEquals(status, response.statusCode(), response::body);
        assertEquals("application/problem+json", response.headers().firstValue("Content-Type").orElse("none"));
        JsonNode problem = JSON.readTree(response.body());
        assertEquals(status, problem.get("status").intValue());
        assertEquals(ProblemTitle.of(status), problem.get("title").textValue());
        assertTrue(problem.get("detail").textValue().contains(detail), response::body);
        assertFalse(response.body().contains("Exception"), response::body);
        for (String ofJava : List.of("\tat ", "com.fasterxml", "Feature", "Constraints", "`")) {
            assertFalse(response.body().contains(ofJava), response::body);
        }
    }

    @TestFactory
    Stream<DynamicTest> badChoicesAreRefusedWithTheReasonAndChangeNothing() throws Exception {
        return badBodies("scheduler", "star/scheduler");
    }

    @TestFactory
    Stream<DynamicTest> badShutdownsAreRefusedWithTheReasonAndChangeNothing() throws Exception {
        serveTwins();
        return badBodies("shutdown", "star/shutdown/1");
    }

    private Stream<DynamicTest> badBodies(String name, String resource) throws IOException {
        JsonNode expected = JSON.readTree(BAD.resolve(name + ".json").toFile());
        Set<String> files = new TreeSet<>();
        try (Stream<java.nio.file.Path> listed = Files.list(BAD.resolve(name))) {
            listed.forEach(file -> files.add(file.getFileName().toString()));
        }
        Set<String> named = new TreeSet<>();
        expected.fieldNames().forEachRemaining(named::add);
        assertEquals(named, files);
        return files.stream().map(file -> DynamicTest.dynamicTest(file, () -> {
            JsonNode before = get(resource);
            JsonNode wanted = expected.get(file);
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(served.url() + BASE + resource))
                    .PUT(BodyPublishers.ofFile(BAD.resolve(name).resolve(file)));
            String type = wanted.path("content_type").asText("application/json");
            if (!type.isEmpty()) {
                request.header("Content-Type", type);
            }
            checkProblem(wanted.get("status").intValue(), wanted.get("detail").textValue(),
                    client.send(request.build(), HttpResponse.BodyHandlers.ofString()));
            assertEquals(before, get(resource));
        }));
    }

    @Test
    void unknownPathsAndMethodsAreProblems() throws Exception {
        checkProblem(404, "openapi.json", send("GET", "/", null, null));
        checkProblem(404, "expected one of star", send("GET", BASE + "nothing", null, null));
        checkProblem(404, "openapi.json", send("GET", "/slotwise/nothing", null, null));
        checkProblem(404, "openapi.json", send("GET", BASE + "../../etc/passwd", null, null));
        HttpResponse<String> notAllowed = send("DELETE", BASE + "star/scheduler", null, null);
        checkProblem(405, "PUT", notAllowed);
        assertTrue(notAllowed.headers().firstValue("Allow").orElse("").contains("GET"));
        checkProblem(405, "GET", send("POST", BASE + "star/status", "application/json", "{}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "star", "star/status", "star/scheduler", "star/shutdown/0", "openapi.yaml", "nothing"})
    void aHeaderThatCannotBeReadIsAProblemOfEachResource(String resource) throws Exception {
        for (String type : List.of("json", "application/", "a b/c", "application/json; charset", ";")) {
            checkProblem(400, "Content-Type", send("GET", BASE + resource, type, null));
            checkProblem(400, "Content-Type", send("PUT", BASE + resource, type, "{}"));
        }
        for (String type : List.of(";", "a/b;q=x", "application/json;q=x")) {
            checkProblem(400, "Accept", send(request("GET", BASE + resource, null).header("Accept", type)));
            checkProblem(400, "Accept", send(request("PUT", BASE + resource, "{}").header("Accept", type)));
        }
    }

    @Test
    void typesOfQualityZeroAreNotAcceptable() throws Exception {
        String body = "{\"name\": \"islip\"}";
        for (String refusing : List.of("application/json;q=0", "application/json; q=0.000", "*/*;q=0", "application/*;q=0, text/html",
                "*/*, application/json;q=0", "application/json;q=0, application/*;q=1")) {
            checkProblem(406, "expected application/json", send(request("GET", BASE + "star/status", null).header("Accept", refusing)));
            checkProblem(406, "expected application/json", send(request("GET", BASE + "openapi.json", null).header("Accept", refusing)));
            HttpResponse<String> put = send(request("PUT", BASE + "star/scheduler", body).header("Content-Type", "application/json").header("Accept", refusing));
            checkProblem(406, "expected application/json", put);
        }
        assertEquals("fair", get("star/scheduler").get("name").textValue(), "what is not acceptable changes nothing");
        for (String accepting : List.of("application/json;q=0.001", "*/*;q=0, application/json", "application/*;q=0, application/json;q=0.5", "text/html;q=0, */*")) {
            assertEquals(200, send(request("GET", BASE + "star/status", null).header("Accept", accepting)).statusCode(), accepting);
        }
        checkProblem(406, "expected application/yaml", send(request("GET", BASE + "openapi.yaml", null).header("Accept", "application/yaml;q=0, */*")));
        assertEquals(200, send(request("GET", BASE + "openapi.yaml", null).header("Accept", "application/json;q=0, */*")).statusCode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE"})
    void aBodyInAnotherEncodingIsNoJson(String charset) throws Exception {
        byte[] body = "{\"name\": \"islip\"}".getBytes(charset);
        checkProblem(400, "not JSON", send(putBytes(body)));
        byte[] marked = ("\uFEFF" + "{\"name\": \"islip\"}").getBytes(charset);
        checkProblem(400, "not JSON", send(putBytes(marked)));
        assertEquals("fair", get("star/scheduler").get("name").textValue());
    }

    private HttpRequest.Builder putBytes(byte[] body) {
        return request("PUT", BASE + "star/scheduler", null).header("Content-Type", "application/json").method("PUT", BodyPublishers.ofByteArray(body));
    }

    @Test
    void aByteOrderMarkOfUtf8IsIgnored() throws Exception {
        byte[] body = "\uFEFF{\"name\": \"islip\"}".getBytes(StandardCharsets.UTF_8);
        assertEquals(200, send(putBytes(body)).statusCode());
    }

    @Test
    void aBodyThatIsNotCalledJsonInUtf8IsRefused() throws Exception {
        String body = "{\"name\": \"islip\"}";
        for (String type : List.of("*/*", "application/*", "application/json; charset=utf-16", "application/json; charset=nonsense", "text/plain")) {
            checkProblem(415, "expected ", send("PUT", BASE + "star/scheduler", type, body));
        }
        HttpResponse<String> coded = send(request("PUT", BASE + "star/scheduler", body).header("Content-Type", "application/json").header("Content-Encoding", "gzip"));
        checkProblem(415, "Content-Encoding; expected identity, got 'gzip'", coded);
        assertEquals("identity", coded.headers().firstValue("Accept-Encoding").orElse("none"));
        assertEquals("fair", get("star/scheduler").get("name").textValue());
        for (String type : List.of("APPLICATION/JSON", "application/json;charset=UTF-8", "application/json; charset=\"utf-8\"")) {
            assertEquals(200, send("PUT", BASE + "star/scheduler", type, body).statusCode(), type);
        }
        assertEquals(200, send(request("PUT", BASE + "star/scheduler", body).header("Content-Type", "application/json").header("Content-Encoding", "identity")).statusCode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"star/status", "star/schedule", "star/scheduler", "openapi.yaml", "openapi.json", "", "nothing", "star/shutdown/7"})
    void headHasTheLengthOfGet(String resource) throws Exception {
        HttpResponse<byte[]> whole = client.send(request("GET", BASE + resource, null).build(), HttpResponse.BodyHandlers.ofByteArray());
        HttpResponse<String> head = send("HEAD", BASE + resource, null, null);
        assertEquals("", head.body());
        assertEquals(whole.statusCode(), head.statusCode());
        for (String header : List.of("Content-Type", "Content-Length", "Allow", "ETag")) {
            assertEquals(whole.headers().allValues(header), head.headers().allValues(header), header);
        }
        assertEquals(whole.body().length, head.headers().firstValueAsLong("Content-Length").orElseThrow());
    }

    @Test
    void controllerThatDoesNotAnswerIsUnavailable() throws Exception {
        served.controller().failWith(new ControllerService.UnavailableException("the controller is not responding", null));
        checkProblem(503, "not responding", send("GET", BASE + "star/status", null, null));
    }

    @Test
    void defectIsReportedWithoutItsTrace() throws Exception {
        served.controller().failWith(new IllegalStateException("secret"));
        HttpResponse<String> response = send("GET", BASE + "star/status", null, null);
        checkProblem(500, "unexpected", response);
        assertFalse(response.body().contains("secret"));
    }

    /** A request that waits for the controller is answered while the server ends. */
    @Test
    void requestsUnderWayAreAnsweredWhenTheServerEnds() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        List<SystemResources<?>> apps = served.controller().apps();
        served.serve(ServedController.manyRequests(), () -> {
            asked.countDown();
            await(goOn);
            return apps;
        }, Connections.Limits.DEFAULT);
        CompletableFuture<HttpResponse<String>> answer = client.sendAsync(request("GET", BASE + "star/status", null).build(),
                HttpResponse.BodyHandlers.ofString());
        asked.await();
        int port = URI.create(served.url()).getPort();
        CompletableFuture<Void> end = CompletableFuture.runAsync(served::close);
        awaitRefusal(port);
        goOn.countDown();
        assertEquals(200, answer.get(TIMEOUT_S, TimeUnit.SECONDS).statusCode());
        end.get(TIMEOUT_S, TimeUnit.SECONDS);
    }

    @SuppressWarnings("ThreadPriorityCheck") // Yields while the server ends; nothing tells when it has begun to.
    private static void awaitRefusal(int port) throws IOException {
        while (true) {
            try {
                new Socket(InetAddress.getLoopbackAddress(), port).close();
                Thread.yield();
            } catch (SocketException refused) {
                return;
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void portThatIsTakenIsNamed() throws IOException {
        int port = URI.create(served.url()).getPort();
        try (ServedController other = new ServedController(directory.resolve("other"))) {
            IOException refusal = assertThrows(IOException.class,
                    () -> other.start(ServedController.settings().put("port", port), Connections.Limits.DEFAULT));
            assertTrue(refusal.getMessage().contains("127.0.0.1:" + port));
        }
    }
}
