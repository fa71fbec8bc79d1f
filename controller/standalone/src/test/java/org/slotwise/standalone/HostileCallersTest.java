// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slotwise.rest.ProblemTitle;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemResources;

/** Callers that send half of a request, or a wrong one, or are sent by a web page of someone else. */
class HostileCallersTest {
    private static final String STATUS = "/slotwise/v1/star/status";
    private static final String PUT = "PUT /slotwise/v1/star/scheduler HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    private static final String CHUNKED = PUT + "Transfer-Encoding: chunked\r\n\r\n";
    private static final Connections.Limits PATIENT = ServedController.PATIENT;
    private static final int SOCKET_TIMEOUT_MS = 20_000;
    /** More than the server has threads. */
    private static final int HALVES = 40;

    private final List<Socket> sockets = new ArrayList<>();
    @TempDir
    private Path directory;
    private ServedController served;

    @BeforeEach
    void open() throws IOException {
        served = new ServedController(directory);
    }

    private void start(Connections.Limits limits, String... names) throws Exception {
        ObjectNode settings = ServedController.manyRequests();
        ArrayNode own = settings.putArray("names");
        List.of(names).forEach(own::add);
        served.start(settings, limits);
    }

    @AfterEach
    void stop() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        served.close();
    }

    private Socket send(String text) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), URI.create(served.url()).getPort());
        sockets.add(socket);
        socket.setSoTimeout(SOCKET_TIMEOUT_MS);
        socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        socket.getOutputStream().flush();
        return socket;
    }

    /** All that the server says until it closes the connection. */
    private String exchange(String text) throws IOException {
        return new String(send(text).getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private void checkServed() throws Exception {
        HttpResponse<String> response = HttpClient.newHttpClient().send(
                HttpRequest.newBuilder(URI.create(served.url() + STATUS)).build(), HttpResponse.BodyHandlers.ofString());
        assertEquals(200, response.statusCode());
    }

    private static void checkProblem(int status, String answer) throws IOException {
        assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
        assertTrue(answer.contains("application/problem+json"), answer);
        JsonNode problem = new ObjectMapper().readTree(answer.substring(answer.indexOf("\r\n\r\n")));
        assertEquals(status, problem.get("status").intValue());
        assertEquals(ProblemTitle.of(status), problem.get("title").textValue());
    }

    private static String get(String headers) {
        return "GET " + STATUS + " HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n";
    }

    // ---- half of a request ----

    @Test
    void halfSentRequestsKeepNobodyElseOut() throws Exception {
        start(PATIENT);
        for (int i = 0; i < HALVES; i++) {
            send("GET " + STATUS + " HTTP/1.1\r\nHost: loc");
            send(PUT + "Content-Length: 100\r\n\r\n{");
            send(CHUNKED + "5\r\nabc");
        }
        checkServed();
    }

    @Test
    @Timeout(60)
    void connectionsAreLimitedAndTheOneThatWasWaitedForLongestGoes() throws Exception {
        start(PATIENT);
        List<Socket> first = new ArrayList<>();
        for (int i = 0; i < Connections.MAX; i++) {
            first.add(send("GET"));
        }
        served.awaitConnections(Connections.MAX);
        fillWith("GET");
        for (Socket socket : first) {
            checkClosed(socket);
        }
        checkServed();
    }

    @Test
    void connectionsWithHalfABodyKeepNobodyElseOutEither() throws Exception {
        start(PATIENT);
        fillWith(PUT + "Content-Length: 100\r\n\r\n{");
        checkServed();
    }

    @Test
    void aBodyThatIsTooLongIsRefusedByItsLengthBeforeItComes() throws Exception {
        start(PATIENT);
        String refused = exchange(PUT + "Content-Length: 65537\r\n\r\n");
        checkProblem(413, refused);
        assertTrue(refused.contains("expected at most 16384 bytes"), refused);
        String body = "{\"name\": \"" + "x".repeat(65_000) + "\"}";
        checkProblem(413, exchange(PUT + "Connection: close\r\nContent-Length: " + body.length() + "\r\n\r\n" + body));
        checkServed();
    }

    /** In order or not: what the server has not read yet when it closes makes a reset of it. */
    private static void checkClosed(Socket socket) throws IOException {
        try {
            assertEquals(-1, socket.getInputStream().read());
        } catch (SocketException e) {
            assertEquals("Connection reset", e.getMessage());
        }
    }

    private void fillWith(String half) throws IOException {
        for (int i = 0; i < Connections.MAX; i++) {
            send(half);
        }
    }

    @Test
    void headsThatComeByteByByteEnd() throws Exception {
        start(new Connections.Limits(600_000, 200, 600_000));
        Socket slow = send("G");
        assertEquals(-1, slow.getInputStream().read());
    }

    @Test
    void bodiesThatDoNotComeEnd() throws Exception {
        start(new Connections.Limits(600_000, 600_000, 200));
        send(PUT + "Content-Length: 100\r\n\r\n{").getInputStream().readAllBytes();
        assertEquals("fair", served.controller().snapshot().scheduler().title());
    }

    // ---- requests that are none ----

    @Test
    void bodiesInChunksAreRefusedUnread() throws Exception {
        start(PATIENT);
        for (String chunks : List.of("e\r\n{\"name\":\"pim\"}\r\n0\r\n\r\n", "1\r\n \r\n".repeat(1000), "zz\r\nabc\r\n0\r\n\r\n", "")) {
            checkProblem(411, exchange(CHUNKED + chunks));
        }
        assertEquals("fair", served.controller().snapshot().scheduler().title());
        checkServed();
    }

    @Test
    void bodiesAreReadUpToALimitWhateverTheirHeadSays() throws Exception {
        start(PATIENT);
        checkProblem(413, exchange(PUT + "Content-Length: 100000000\r\n\r\n" + "x".repeat(70_000)));
    }

    @Test
    void headsThatAreNoneOrTooLongAreRefused() throws Exception {
        start(PATIENT);
        assertTrue(exchange("nonsense\r\n\r\n").startsWith("HTTP/1.1 400 "));
        assertTrue(exchange(get("Host: localhost\r\nX: " + "x".repeat(20_000) + "\r\n")).startsWith("HTTP/1.1 431 "));
        assertTrue(exchange("GET " + STATUS + " HTTP/1.1\r\nConnection: close\r\n\r\n").startsWith("HTTP/1.1 400 "));
    }

    @Test
    void addressesThatAreNoneAreTheCallersMistake() throws Exception {
        start(PATIENT);
        for (String query : List.of("{", "}", "|", "\"", "^", "<", ">", "%", "%zz")) {
            checkProblem(400, exchange("GET " + STATUS + "?a=" + query + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        }
        checkServed();
    }

    /** Matrix parameters: Jersey and Jetty would drop them, and a caller would get another resource than it names. */
    @Test
    void matrixParametersAreRejected() throws Exception {
        start(PATIENT);
        for (String path : List.of(STATUS + ";x", STATUS + ";", "/slotwise/v1;a=b/star/status", "/slotwise/v1/star;x=1/status", "/slotwise/v1/nothing;x",
                "/slotwise/v1/star/shutdown;core=1/0", "/slotwise/v1/star/shutdown/0;jsessionid=1")) {
            checkProblem(400, exchange("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        }
        checkProblem(404, exchange("GET " + STATUS + "%3Bx HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        assertTrue(exchange("GET " + STATUS + "?a;b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startsWith("HTTP/1.1 200 "));
    }

    // ---- web pages of others ----

    @Test
    void foreignNamesAreRefused() throws Exception {
        start(PATIENT, "slotwise.example");
        for (String own : List.of("localhost", "LocalHost:9", "127.0.0.1", "[::1]:80", "slotwise.example")) {
            assertTrue(exchange(get("Host: " + own + "\r\n")).startsWith("HTTP/1.1 200 "), own);
        }
        for (String foreign : List.of("attacker.example", "localhost.attacker.example:80", "127.0.0.1.nip.io", "192.0.2.1", "[::2]")) {
            checkProblem(421, exchange(get("Host: " + foreign + "\r\n")));
        }
        checkProblem(400, exchange("GET http://attacker.example" + STATUS + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    }

    @Test
    void foreignOriginsAreRefused() throws Exception {
        start(PATIENT);
        assertTrue(exchange(get("Host: localhost:81\r\nOrigin: http://localhost:81\r\n")).startsWith("HTTP/1.1 200 "));
        for (String foreign : List.of("http://attacker.example", "null", "https://localhost:81", "http://localhost:82", "")) {
            checkProblem(403, exchange(get("Host: localhost:81\r\nOrigin: " + foreign + "\r\n")));
        }
        for (List<String> two : List.of(List.of("http://localhost:81", "http://attacker.example"),
                List.of("http://attacker.example", "http://localhost:81"), List.of("http://localhost:81", "http://localhost:81"))) {
            checkProblem(403, exchange(get("Host: localhost:81\r\nOrigin: " + two.get(0) + "\r\nOrigin: " + two.get(1) + "\r\n")));
        }
        checkProblem(403, exchange(PUT.replace("Content-Type: application/json\r\n", "Content-Type: text/plain\r\n")
                + "Origin: http://attacker.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"));
    }

    /** A resource whose answer is larger than what the two kernels keep of it for a caller who does not read. */
    private static SystemResources<?> large(String text) {
        return OneSystem.of(new ResourceTable<>("large", "Has a lot to say.").read("text", View.TEXT.of(view -> text)));
    }

    private String firstLine(Socket socket) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = socket.getInputStream().read(); next >= 0 && next != '\r'; next = socket.getInputStream().read()) {
            line.write(next);
        }
        return line.toString(StandardCharsets.US_ASCII);
    }

    /** Asks for it, and reads how the answer begins. */
    private String askForLarge() throws IOException {
        Socket socket = new Socket();
        sockets.add(socket);
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), URI.create(served.url()).getPort()));
        socket.getOutputStream().write("GET /slotwise/v1/large/text HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        return firstLine(socket);
    }

    @Test
    void answersThatNobodyTakesAreBoundedInMemory() throws Exception {
        String text = "x".repeat(12 << 20);
        List<SystemResources<?>> apps = List.of(served.controller().apps().get(0), large(text));
        served.serve(ServedController.manyRequests(), () -> apps, PATIENT);
        assertEquals("HTTP/1.1 200 OK", askForLarge());
        assertEquals("HTTP/1.1 200 OK", askForLarge());
        assertEquals("HTTP/1.1 503 Service Unavailable", askForLarge());
        checkServed();
        for (Socket socket : sockets) {
            socket.close();
        }
        String again = askForLarge();
        while (!again.equals("HTTP/1.1 200 OK")) {
            assertEquals("HTTP/1.1 503 Service Unavailable", again, "that they have gone is seen in the end");
            again = askForLarge();
        }
    }
}
