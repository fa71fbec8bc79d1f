// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.osgi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The live page and the resources as a browser gets them: from the packed bundle, by Karaf's web container, behind its login. */
class ServedBundleIT {
    private static final Path BUILT = Path.of("../../web/dist");
    private static final List<String> ALL = List.of("page/", "page/assets/page.js", "page/assets/page.css", "v1/star/status", "v1/openapi.json");

    @TempDir
    static Path directory;
    private static ServedBundle served;
    private final HttpClient client = HttpClient.newHttpClient();

    @BeforeAll
    static void start() throws Exception {
        served = new ServedBundle(directory, "127.0.0.1", ServedBundle.freePort());
    }

    @AfterAll
    static void stop() throws Exception {
        served.stop();
    }

    private HttpResponse<byte[]> call(String method, String path, String user, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(served.url().resolve(path)).method(method, HttpRequest.BodyPublishers.ofString(body))
                .header("Content-Type", "application/json");
        if (user != null) {
            request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString(user.getBytes(StandardCharsets.UTF_8)));
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    private HttpResponse<byte[]> get(String path, String user) throws Exception {
        return call("GET", path, user, "");
    }

    private JsonNode json(String path) throws Exception {
        HttpResponse<byte[]> answer = get(path, ServedBundle.VIEWER);
        assertEquals(200, answer.statusCode(), path);
        return new ObjectMapper().readTree(answer.body());
    }

    @Test
    void whoHasNoPasswordOrNoRoleGetsNothing() throws Exception {
        for (String path : ALL) {
            HttpResponse<byte[]> refused = get(path, null);
            assertEquals(401, refused.statusCode(), path);
            assertEquals("basic realm=\"karaf\"", refused.headers().firstValue("WWW-Authenticate").orElseThrow().toLowerCase(Locale.ROOT));
            assertEquals(401, get(path, "onos:wrong").statusCode(), path);
            assertEquals(403, get(path, ServedBundle.STRANGER).statusCode(), path);
        }
    }

    @Test
    void aViewerGetsThePageAndItsFilesAsTheyWereBuilt() throws Exception {
        String index = new String(get("page/", ServedBundle.VIEWER).body(), StandardCharsets.UTF_8);
        assertEquals(Files.readString(BUILT.resolve("index.html")).replace("content=\"websocket\"", "content=\"poll\""), index);
        for (String asset : List.of("assets/page.js", "assets/page.css")) {
            assertTrue(index.contains("\"./" + asset + "\""), asset);
            assertArrayEquals(Files.readAllBytes(BUILT.resolve(asset)), get("page/" + asset, ServedBundle.VIEWER).body(), asset);
        }
        String policy = get("page/", ServedBundle.VIEWER).headers().firstValue("Content-Security-Policy").orElseThrow();
        assertTrue(policy.endsWith("; frame-ancestors 'self'"), policy);
        assertEquals(served.url().resolve("page/").toString(), get("page", ServedBundle.VIEWER).headers().firstValue("Location").orElseThrow());
    }

    @Test
    void aViewerChangesNothing() throws Exception {
        String body = "{\"name\": \"islip\"}";
        assertEquals(403, call("PUT", "v1/star/scheduler", ServedBundle.VIEWER, body).statusCode());
        assertEquals("fair", json("v1/star/scheduler").get("name").textValue());
        assertEquals(200, call("PUT", "v1/star/scheduler", ServedBundle.ADMIN, body).statusCode());
        assertEquals("islip", json("v1/star/scheduler").get("name").textValue());
        assertEquals(200, call("PUT", "v1/star/scheduler", ServedBundle.ADMIN, "{\"name\": \"fair\"}").statusCode());
    }

    @Test
    void anotherNodeThatLeadsHasThePageAndNotItsFiles() throws Exception {
        served.leadBy("127.0.0.2");
        try {
            for (String path : List.of("page/", "v1/star/status")) {
                HttpResponse<byte[]> answer = get(path, ServedBundle.VIEWER);
                assertEquals(307, answer.statusCode(), path);
                assertEquals(served.url().resolve(path).toString().replace("127.0.0.1", "127.0.0.2"), answer.headers().firstValue("Location").orElseThrow());
            }
            assertEquals(200, get("page/assets/page.js", ServedBundle.VIEWER).statusCode());
        } finally {
            served.leadBy(null);
        }
    }

    @Test
    void thePageIsThereAlsoWhenTheAppIsNotActive() throws Exception {
        served.deactivate();
        try {
            assertEquals(200, get("page/", ServedBundle.VIEWER).statusCode());
            HttpResponse<byte[]> refused = get("v1/star/status", ServedBundle.VIEWER);
            assertEquals(503, refused.statusCode());
            assertTrue(new String(refused.body(), StandardCharsets.UTF_8).contains("not active"));
        } finally {
            served.activate();
        }
    }
}
