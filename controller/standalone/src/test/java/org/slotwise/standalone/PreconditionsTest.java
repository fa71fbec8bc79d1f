// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.systems.lambda.rest.LambdaSystem;

/** Conditional requests, which prevent lost updates between callers. */
class PreconditionsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String IF_MATCH = "If-Match";
    private static final String IF_NONE_MATCH = "If-None-Match";
    private static final String SCHEDULER = "star/scheduler";
    private static final String SESSION = "lambda/sessions/film";
    private static final String ISLIP = "{\"name\": \"islip\"}";
    private static final String ENDS = "{\"source\": \"ucsd-0\", \"sink\": \"uva-0\", \"lease_ms\": 5000}";
    private static final int CALLERS = 16;

    private final HttpClient client = HttpClient.newHttpClient();
    @TempDir
    private Path directory;
    private ServedController served;

    @BeforeEach
    void start() throws Exception {
        served = new ServedController(directory);
        JsonNode network = JSON.readTree(Path.of("../../schema/examples/network-lambda.json").toFile()).at("/apps/lambda");
        List<SystemResources<?>> apps = List.of(served.controller().apps().get(0), OneSystem.of(new LambdaSystem().read("", network)));
        served.serve(ServedController.manyRequests(), () -> apps, Connections.Limits.DEFAULT);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    private HttpRequest request(String method, String path, String body, Map<String, String> headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(served.url() + "/slotwise/v1/" + path))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body)).header("Content-Type", "application/json");
        headers.forEach(request::header);
        return request.build();
    }

    private HttpResponse<String> send(String method, String path, String body, Map<String, String> headers) throws Exception {
        return client.send(request(method, path, body, headers), HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> send(String method, String path, String body) throws Exception {
        return send(method, path, body, Map.of());
    }

    private String tag(String path) throws Exception {
        HttpResponse<String> answer = send("GET", path, null);
        String tag = answer.headers().firstValue("ETag").orElseThrow();
        assertTrue(tag.matches("\"[!#-~]+\""), tag);
        assertEquals(tag, send("HEAD", path, null).headers().firstValue("ETag").orElseThrow());
        return tag;
    }

    private static void checkProblem(int status, String detail, HttpResponse<String> answer) throws Exception {
        assertEquals(status, answer.statusCode(), answer::body);
        assertEquals("application/problem+json", answer.headers().firstValue("Content-Type").orElse("none"));
        assertTrue(JSON.readTree(answer.body()).get("detail").textValue().contains(detail), answer::body);
    }

    private String scheduler() throws Exception {
        return JSON.readTree(send("GET", SCHEDULER, null).body()).get("name").textValue();
    }

    @Test
    void aChangeToWhatHasChangedSinceIsRejected() throws Exception {
        String read = tag(SCHEDULER);
        assertEquals(200, send("PUT", SCHEDULER, ISLIP, Map.of(IF_MATCH, read)).statusCode());
        checkProblem(412, "another entity tag", send("PUT", SCHEDULER, "{\"name\": \"pim\"}", Map.of(IF_MATCH, read)));
        assertEquals("islip", scheduler());
        assertNotEquals(read, tag(SCHEDULER));
        assertEquals(200, send("PUT", SCHEDULER, "{\"name\": \"pim\"}", Map.of(IF_MATCH, "\"x\", " + tag(SCHEDULER))).statusCode());
        assertEquals(200, send("PUT", SCHEDULER, ISLIP, Map.of(IF_MATCH, "*")).statusCode());
        checkProblem(412, "If-None-Match", send("PUT", SCHEDULER, ISLIP, Map.of(IF_NONE_MATCH, "*")));
    }

    /** Intermediaries make weak tags of strong ones; those do not allow a change (RFC 9110, 13.1). */
    @Test
    void weakTagsMatchInIfNoneMatchOnly() throws Exception {
        String weak = "W/" + tag(SCHEDULER);
        checkProblem(412, "another entity tag", send("PUT", SCHEDULER, ISLIP, Map.of(IF_MATCH, weak)));
        assertEquals("fair", scheduler());
        assertEquals(304, send("GET", SCHEDULER, null, Map.of(IF_NONE_MATCH, weak)).statusCode());
        checkProblem(412, "If-None-Match", send("PUT", SCHEDULER, ISLIP, Map.of(IF_NONE_MATCH, weak)));
    }

    @Test
    void whatAReaderHasIsNotSentAgain() throws Exception {
        String read = tag(SCHEDULER);
        for (String method : List.of("GET", "HEAD")) {
            HttpResponse<String> answer = send(method, SCHEDULER, null, Map.of(IF_NONE_MATCH, read));
            assertEquals("304 ", answer.statusCode() + " " + answer.body());
            assertEquals(read, answer.headers().firstValue("ETag").orElseThrow());
            assertEquals(send("GET", SCHEDULER, null).body().length(), answer.headers().firstValueAsLong("Content-Length").orElse(-1));
        }
        checkProblem(412, "another entity tag", send("GET", SCHEDULER, null, Map.of(IF_MATCH, "\"x\"")));
        assertEquals(200, send("PUT", SCHEDULER, ISLIP).statusCode());
        assertEquals(200, send("GET", SCHEDULER, null, Map.of(IF_NONE_MATCH, read)).statusCode());
    }

    @Test
    void whatCannotBeChangedHasNoTag() throws Exception {
        HttpResponse<String> answer = send("GET", "star/status", null, Map.of(IF_NONE_MATCH, "*"));
        assertEquals(200, answer.statusCode());
        assertTrue(answer.headers().firstValue("ETag").isEmpty());
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "\"x", "x\"", "'x'", "w/\"x\"", "*, \"x\"", "\"x\" \"y\"", "\"x\" y", ",", " "})
    void aTagThatIsNoneIsTheCallersMistake(String tag) throws Exception {
        for (String header : List.of(IF_MATCH, IF_NONE_MATCH)) {
            checkProblem(400, header + " is malformed", send("PUT", SCHEDULER, ISLIP, Map.of(header, tag)));
            checkProblem(400, header + " is malformed", send("GET", SCHEDULER, null, Map.of(header, tag)));
        }
        assertEquals("fair", scheduler());
    }

    /** A header of 8 KiB, in two lines. */
    @Test
    void ofManyTagsOneHasToMatch() throws Exception {
        String many = "\"\", ".repeat(800);
        HttpRequest.Builder request = HttpRequest.newBuilder(request("PUT", SCHEDULER, ISLIP, Map.of()), (name, value) -> true)
                .header(IF_MATCH, many).header(IF_MATCH, many + tag(SCHEDULER));
        assertEquals(200, client.send(request.build(), HttpResponse.BodyHandlers.ofString()).statusCode());
    }

    @Test
    void whatIsAddedAndRemovedHasConditionsToo() throws Exception {
        checkProblem(412, "nothing at this place", send("PUT", SESSION, ENDS, Map.of(IF_MATCH, "*")));
        checkProblem(404, "unknown session", send("DELETE", SESSION, null, Map.of(IF_MATCH, "*")));
        assertEquals(200, send("PUT", SESSION, ENDS, Map.of(IF_NONE_MATCH, "*")).statusCode());
        checkProblem(412, "If-None-Match", send("PUT", SESSION, ENDS, Map.of(IF_NONE_MATCH, "*")));
        String read = tag(SESSION);
        assertEquals(200, send("PUT", SESSION, ENDS.replace("5000", "5000, \"wanted_bps\": 1000000")).statusCode());
        checkProblem(412, "another entity tag", send("DELETE", SESSION, null, Map.of(IF_MATCH, read)));
        assertEquals(204, send("DELETE", SESSION, null, Map.of(IF_MATCH, tag(SESSION))).statusCode());
    }

    /** A request that is rejected without a condition is rejected in the same manner with one (RFC 9110, 13.2.1). */
    @Test
    void whatIsWrongAnywayIsSaidFirst() throws Exception {
        checkProblem(404, "nothing at this place", send("PUT", "star/shutdown/9", "{\"shut_down\": true}", Map.of(IF_MATCH, "\"x\"")));
        checkProblem(400, "not JSON", send("PUT", SCHEDULER, "{", Map.of(IF_MATCH, "\"x\"")));
        checkProblem(405, "GET", send("PUT", "star/status", "{}", Map.of(IF_MATCH, "\"x\"")));
    }

    @Test
    void ofManyWhoChangeWhatTheyHaveReadOneSucceeds() throws Exception {
        String read = tag(SCHEDULER);
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int caller = 0; caller < CALLERS; caller++) {
            String chosen = "{\"name\": \"islip\", \"settings\": {\"iterations\": \"" + (caller + 1) + "\"}}";
            answers.add(client.sendAsync(request("PUT", SCHEDULER, chosen, Map.of(IF_MATCH, read)), HttpResponse.BodyHandlers.ofString()));
        }
        List<Integer> statuses = answers.stream().map(answer -> answer.join().statusCode()).sorted().toList();
        assertEquals(200, statuses.get(0));
        assertEquals(412, statuses.get(1));
        assertEquals(412, statuses.get(CALLERS - 1));
    }
}
