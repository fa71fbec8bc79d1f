// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slotwise.rest.json.InvalidJsonException;

/** The live page of a controller: who gets it, and what. web/tests has it in a browser. */
class PageTest {
    private static final String TOKEN = "0123456789+abc/def==";
    private static final String PAGE = "/slotwise/page/";
    private static final String SCRIPT = PAGE + "assets/page.js";
    private static final Path BUILT = Path.of("../../web/dist");

    private final HttpClient client = HttpClient.newHttpClient();
    private final List<Socket> sockets = new ArrayList<>();
    @TempDir
    private Path directory;
    private ServedController served;

    @BeforeEach
    void open() throws IOException {
        served = new ServedController(directory);
    }

    @AfterEach
    void stop() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        served.close();
    }

    private ObjectNode settings() throws IOException {
        Path file = directory.resolve("token");
        Files.writeString(file, TOKEN + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return ServedController.manyRequests().put("token_file", file.toString()).put("page", true);
    }

    private void start() throws Exception {
        served.start(settings(), ServedController.PATIENT);
    }

    private HttpResponse<byte[]> get(String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(served.url() + path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    private static String[] bearer(String token) {
        return new String[] {"Authorization", "Bearer " + token};
    }

    // ---- what is served ----

    @Test
    void thePageIsTheOneThatTheEngineHas() throws Exception {
        start();
        HttpResponse<byte[]> index = get(PAGE + "?token=" + TOKEN);
        assertEquals(200, index.statusCode());
        String built = Files.readString(BUILT.resolve("index.html"));
        assertEquals(built.replace("content=\"websocket\"", "content=\"poll\""), new String(index.body(), StandardCharsets.UTF_8));
        assertFalse(built.contains("content=\"poll\""));
        HttpResponse<byte[]> script = get(SCRIPT);
        assertArrayEquals(Files.readAllBytes(BUILT.resolve("assets/page.js")), script.body());
        assertArrayEquals(Files.readAllBytes(BUILT.resolve("assets/page.css")), get(PAGE + "assets/page.css").body());
        assertEquals("text/html;charset=utf-8", type(index));
        assertEquals("text/javascript;charset=utf-8", type(script));
        for (HttpResponse<byte[]> answer : List.of(index, script)) {
            assertGuarded(answer);
        }
    }

    private static void assertGuarded(HttpResponse<?> answer) {
        Map<String, List<String>> headers = answer.headers().map();
        assertEquals(List.of("nosniff"), headers.get("x-content-type-options"));
        assertEquals(List.of("no-referrer"), headers.get("referrer-policy"));
        assertEquals(List.of("no-store"), headers.get("cache-control"));
        assertEquals(1, headers.getOrDefault("content-security-policy", List.of()).size(), answer::toString);
        String policy = headers.get("content-security-policy").get(0);
        assertTrue(policy.startsWith("default-src 'none'; script-src 'self'; ") && policy.endsWith("; frame-ancestors 'none'"), policy);
    }

    /** Those of the resources, of what stands before them, and of the HTTP server itself. */
    @Test
    void problemsAreGuardedAsThePageIs() throws Exception {
        start();
        for (Map.Entry<String, Integer> wrong : Map.of(PAGE + "assets/other.js", 404, PAGE + "other", 404).entrySet()) {
            HttpResponse<byte[]> answer = get(wrong.getKey(), bearer(TOKEN));
            assertEquals(wrong.getValue(), answer.statusCode());
            assertGuarded(answer);
        }
        for (String refused : List.of(PAGE, PAGE + "?token=x", PAGE + "other")) {
            HttpResponse<byte[]> answer = get(refused);
            assertEquals(401, answer.statusCode(), refused);
            assertGuarded(answer);
        }
        HttpResponse<byte[]> tooLong = get(PAGE + "?token=" + "x".repeat(10_000), bearer(TOKEN));
        assertEquals(414, tooLong.statusCode());
        assertGuarded(tooLong);
    }

    private static String type(HttpResponse<?> answer) {
        return answer.headers().firstValue("Content-Type").orElseThrow().replace(" ", "");
    }

    @Test
    void wrongAddressesAreProblems() throws Exception {
        start();
        for (String none : List.of(PAGE + "assets/other.js", PAGE + "assets/..%2findex.html", PAGE + "assets/manifest.json", PAGE + "other")) {
            int status = get(none, bearer(TOKEN)).statusCode();
            assertTrue(status == 404 || status == 400, none + ": " + status);
        }
        HttpRequest put = HttpRequest.newBuilder(URI.create(served.url() + PAGE + "?token=" + TOKEN)).PUT(HttpRequest.BodyPublishers.ofString("{}")).build();
        assertEquals(401, client.send(put, HttpResponse.BodyHandlers.discarding()).statusCode());
        // The last one: its connection ends with the answer, and a client may find out only when it uses it again.
        assertEquals(414, get(PAGE + "?x=" + "x".repeat(10_000), bearer(TOKEN)).statusCode());
    }

    @Test
    void noPageIsThereUnlessItIsAskedFor() throws Exception {
        ObjectNode without = settings();
        without.remove("page");
        served.start(without, ServedController.PATIENT);
        assertEquals(401, get(PAGE + "?token=" + TOKEN).statusCode());
        for (String path : List.of(PAGE, SCRIPT)) {
            assertEquals(404, get(path, bearer(TOKEN)).statusCode(), path);
        }
    }

    @Test
    void itIsForLoopbackAndAToken() throws Exception {
        String reason = "rest.page: the page requires 'token_file'";
        ObjectNode open = ServedController.settings().put("page", true);
        assertTrue(assertThrows(InvalidJsonException.class, () -> RestSettings.decode("rest", open)).getMessage().startsWith(reason));
        ObjectNode reachable = settings().put("host", "0.0.0.0");
        reachable.putObject("tls").put("certificate", "c").put("key", "k");
        assertTrue(assertThrows(InvalidJsonException.class, () -> RestSettings.decode("rest", reachable)).getMessage().startsWith(reason));
        assertEquals("rest.page: expected true or false, got a value of type string",
                assertThrows(InvalidJsonException.class, () -> RestSettings.decode("rest", settings().put("page", "yes"))).getMessage());
    }

    // ---- who gets it ----

    @Test
    void whoHasNoTokenGetsFilesThatEverybodyHasAndNothingElse() throws Exception {
        start();
        for (String query : List.of("", "?token=", "?token=" + TOKEN.substring(1), "?token=" + TOKEN + "x", "?xtoken=" + TOKEN, "?TOKEN=" + TOKEN)) {
            assertEquals(401, get(PAGE + query).statusCode(), query);
        }
        assertEquals(200, get(PAGE + "?view=star&token=" + TOKEN).statusCode());
        assertEquals(200, get(PAGE, bearer(TOKEN)).statusCode());
        assertEquals(200, get(SCRIPT).statusCode());
        // Neither do addresses that mean the same, or lead elsewhere, open anything.
        for (String path : List.of("/slotwise/v1/star/status?token=" + TOKEN, "/slotwise/page?token=" + TOKEN,
                PAGE + "../v1/star/status?token=" + TOKEN, "/slotwise/page/./?token=" + TOKEN, "/slotwise/%70age/?token=" + TOKEN,
                SCRIPT + "/../../../v1/star/status", SCRIPT + ";/../../../v1/star/status", "/slotwise//page/?token=" + TOKEN)) {
            String answer = exchange("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            assertTrue(answer.startsWith("HTTP/1.1 401 ") || answer.startsWith("HTTP/1.1 400 "), path + ": " + answer);
        }
    }

    private Socket send(String text) throws IOException {
        Socket socket = new Socket();
        sockets.add(socket);
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), URI.create(served.url()).getPort()));
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        return socket;
    }

    private String exchange(String text) throws IOException {
        return new String(send(text).getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static String request(String path, String headers) {
        return "GET " + path + " HTTP/1.1\r\n" + headers + "Authorization: Bearer " + TOKEN + "\r\nConnection: close\r\n\r\n";
    }

    @Test
    void foreignNamesAndOriginsAreRefusedTokenOrNot() throws Exception {
        start();
        for (String path : List.of(PAGE + "?token=" + TOKEN, SCRIPT)) {
            assertTrue(exchange(request(path, "Host: localhost:1\r\n")).startsWith("HTTP/1.1 200 "), path);
            assertTrue(exchange(request(path, "Host: evil.example\r\n")).startsWith("HTTP/1.1 421 "), path);
            assertTrue(exchange(request(path, "Host: localhost.evil.example:1\r\n")).startsWith("HTTP/1.1 421 "), path);
            for (String origin : List.of("http://evil.example", "null", "https://localhost:1", "http://localhost:2")) {
                assertTrue(exchange(request(path, "Host: localhost:1\r\nOrigin: " + origin + "\r\n")).startsWith("HTTP/1.1 403 "), origin);
            }
        }
        assertTrue(exchange(request(PAGE, "Host: localhost\r\nX: " + "x".repeat(10_000) + "\r\n")).startsWith("HTTP/1.1 431 "));
    }
}
