// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slotwise.rest.json.InvalidJsonException;

/** Who may ask, how often, over what, and what is written down of it. */
class AccessTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOKEN = "0123456789abcdef-token";
    private static final String RESERVED = "fedcba9876543210-token";
    private static final String SCHEDULER = "/slotwise/v1/star/scheduler";
    private static final Path TLS = Path.of("../p4runtime/src/test/resources/tls");

    @TempDir
    private Path directory;
    private ServedController served;

    @BeforeEach
    void open() throws IOException {
        served = new ServedController(directory, Clock.fixed(Instant.EPOCH, ZoneOffset.UTC), 400);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    private Path tokenFile(String text, String permissions) throws IOException {
        return tokenFile("token", text, permissions);
    }

    private Path tokenFile(String name, String text, String permissions) throws IOException {
        Path file = directory.resolve(name);
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
        return file;
    }

    private static ObjectNode settings() {
        return ServedController.settings();
    }

    private void start(ObjectNode settings) throws Exception {
        served.start(settings, ServedController.PATIENT);
    }

    private HttpResponse<String> send(HttpClient client, String method, String path, String authorization)
            throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(served.url() + path)).method(method,
                method.equals("PUT") ? BodyPublishers.ofString("{\"name\":\"rotation\"}") : BodyPublishers.noBody());
        request.header("Content-Type", "application/json");
        if (authorization != null) {
            request.header("Authorization", authorization);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static HttpClient plain() {
        return HttpClient.newHttpClient();
    }

    // ---- token ----

    @Test
    void onlyTheTokenOpensAnyResource() throws Exception {
        start(settings().put("token_file", tokenFile(TOKEN + "\n", "rw-r-----").toString()));
        for (String wrong : new String[] {null, "", "Bearer", "Bearer ", "Bearer " + TOKEN + "x", "Basic " + TOKEN,
                "Bearer " + TOKEN.substring(1), TOKEN}) {
            for (String path : List.of(SCHEDULER, "/slotwise/v1/openapi.json", "/metrics", "/", "/nothing")) {
                HttpResponse<String> response = send(plain(), "GET", path, wrong);
                assertEquals(401, response.statusCode());
                assertEquals("Bearer", response.headers().firstValue("WWW-Authenticate").orElseThrow());
                assertEquals(401, JSON.readTree(response.body()).get("status").intValue());
            }
            assertEquals(401, send(plain(), "PUT", SCHEDULER, wrong).statusCode());
        }
        assertEquals("fair", served.controller().snapshot().scheduler().title());
        assertEquals(200, send(plain(), "PUT", SCHEDULER, "Bearer " + TOKEN).statusCode());
        assertEquals("rotation", served.controller().snapshot().scheduler().title());
    }

    @Test
    void tokenThatEverybodyCanReadOrGuessIsRefused() throws Exception {
        for (String lax : List.of("rw-r--r--", "rw-----w-", "rw--w----", "rw------x")) {
            assertRefused("chmod 600", settings().put("token_file", tokenFile(TOKEN, lax).toString()));
        }
        assertRefused("at least 16", settings().put("token_file", tokenFile("short", "rw-------").toString()));
        assertRefused("at least 16", settings()
                .put("token_file", tokenFile("two lines of\ntext, longer", "rw-------").toString()));
        assertRefused("at most", settings().put("token_file", tokenFile("x".repeat(5000), "rw-------").toString()));
    }

    private static void assertRefused(String reason, ObjectNode settings) {
        Exception refusal = assertThrows(Exception.class, () -> RestSettings.decode("rest", settings));
        assertTrue(refusal instanceof IOException || refusal instanceof InvalidJsonException, refusal::toString);
        assertTrue(refusal.getMessage().contains(reason), refusal::getMessage);
    }

    @Test
    void addressThatOthersCanReachNeedsTokenAndTls() throws Exception {
        assertRefused("expected a loopback address without them", settings().put("host", "0.0.0.0"));
        assertRefused("expected a loopback address without them", settings().put("host", "::"));
        assertRefused("expected a loopback address without them", settings().put("host", "192.0.2.1")
                .put("token_file", tokenFile(TOKEN, "rw-------").toString()));
        assertEquals("127.0.0.1", RestSettings.decode("rest", settings()).host());
        assertEquals("::1", RestSettings.decode("rest", settings().put("host", "::1")).host());
    }

    // ---- rate ----

    @Test
    void whoAsksTooOftenIsTurnedAwayForAWhile() throws Exception {
        start(settings().put("requests_per_second", 1));
        assertEquals(200, send(plain(), "GET", SCHEDULER, null).statusCode());
        HttpResponse<String> response = send(plain(), "PUT", SCHEDULER, null);
        assertEquals(429, response.statusCode());
        assertEquals("1", response.headers().firstValue("Retry-After").orElseThrow());
        assertEquals("fair", served.controller().snapshot().scheduler().title());
    }

    /** Whatever others ask, who has the reserved token is served, up to a limit of its own. */
    @Test
    void theReservedTokenHasALimitOfItsOwnAndOpensAllResources() throws Exception {
        ObjectNode settings = settings().put("requests_per_second", 1)
                .put("reserved_token_file", tokenFile("reserved", RESERVED, "rw-------").toString());
        start(settings);
        awaitTooMany(null);
        assertEquals(200, send(plain(), "PUT", SCHEDULER, "Bearer " + RESERVED).statusCode());
        awaitTooMany("Bearer " + RESERVED);
        start(settings.put("token_file", tokenFile(TOKEN, "rw-------").toString()));
        assertEquals(200, send(plain(), "GET", SCHEDULER, "Bearer " + RESERVED).statusCode());
        assertEquals(401, send(plain(), "GET", SCHEDULER, "Bearer " + RESERVED + "x").statusCode());
    }

    private void awaitTooMany(String authorization) throws Exception {
        int status;
        do {
            status = send(plain(), "GET", SCHEDULER, authorization).statusCode();
        } while (status == 200);
        assertEquals(429, status);
    }

    @Test
    void limitIsByAddressAndRecovers() throws Exception {
        start(settings().put("requests_per_second", 1));
        awaitTooMany(null);
        assertEquals("HTTP/1.1 200 OK", firstLineFrom(InetAddress.getByAddress(new byte[] {127, 0, 0, 2})));
        int status;
        do {
            status = send(plain(), "GET", SCHEDULER, null).statusCode();
        } while (status == 429);
        assertEquals(200, status);
    }

    private String firstLineFrom(InetAddress address) throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), URI.create(served.url()).getPort(), address, 0)) {
            socket.getOutputStream().write(("GET " + SCHEDULER + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII)).readLine();
        }
    }

    // ---- TLS ----

    private static HttpClient trusting(String authority) throws Exception {
        return HttpClient.newBuilder().sslContext(context(authority)).build();
    }

    private static SSLContext context(String authority) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream file = Files.newInputStream(TLS.resolve(authority))) {
            trusted.setCertificateEntry("authority",
                    CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    /** A copy that only its owner may read. */
    private String keyFile(String name, String permissions) throws IOException {
        Path copy = directory.resolve(name);
        Files.copy(TLS.resolve(name), copy, StandardCopyOption.REPLACE_EXISTING);
        Files.setPosixFilePermissions(copy, PosixFilePermissions.fromString(permissions));
        return copy.toString();
    }

    private ObjectNode withTls(boolean clientCertificates) throws IOException {
        ObjectNode settings = settings();
        ObjectNode tls = settings.putObject("tls").put("certificate", TLS.resolve("server.pem").toString())
                .put("key", keyFile("server.key", "rw-------"));
        if (clientCertificates) {
            tls.put("client_ca", TLS.resolve("authority.pem").toString());
        }
        return settings;
    }

    @Test
    void resourcesAreServedOverTls() throws Exception {
        start(withTls(false));
        assertTrue(served.url().startsWith("https://"));
        assertEquals(200, send(trusting("authority.pem"), "GET", SCHEDULER, null).statusCode());
        assertThrows(SSLHandshakeException.class, () -> send(trusting("stranger.pem"), "GET", SCHEDULER, null));
    }

    /** The one that is closed shows that the server has seen them all. */
    @Test
    @Timeout(60)
    void handshakesThatDoNotComeDisplaceOnlyEachOther() throws Exception {
        start(withTls(false));
        List<Socket> halves = new ArrayList<>();
        try (Socket honest = context("authority.pem").getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port())) {
            assertTrue(head(honest).startsWith("HTTP/1.1 200 "));
            for (int i = 0; i <= Connections.MAX_HANDSHAKES; i++) {
                halves.add(new Socket(InetAddress.getLoopbackAddress(), port()));
                if (i == 0) {
                    served.awaitConnections(2);
                }
            }
            assertEquals(-1, halves.get(0).getInputStream().read());
            assertTrue(head(honest).startsWith("HTTP/1.1 200 "));
            assertEquals(200, send(trusting("authority.pem"), "GET", SCHEDULER, null).statusCode());
        } finally {
            for (Socket half : halves) {
                half.close();
            }
        }
    }

    private int port() {
        return URI.create(served.url()).getPort();
    }

    /** The head of an answer without a body. */
    private static String head(Socket socket) throws IOException {
        socket.getOutputStream().write(("HEAD " + SCHEDULER + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        StringBuilder head = new StringBuilder();
        int next = 0;
        while (next >= 0 && head.indexOf("\r\n\r\n") < 0) {
            next = socket.getInputStream().read();
            head.append((char) next);
        }
        return head.toString();
    }

    @Test
    @Timeout(60)
    void handshakesThatDoNotComeEnd() throws Exception {
        served.start(withTls(false), new Connections.Limits(200, 600_000, 600_000));
        try (Socket half = new Socket(InetAddress.getLoopbackAddress(), port())) {
            assertEquals(-1, half.getInputStream().read());
        }
    }

    @Test
    void clientWithoutTheCertificateAskedForIsTurnedAway() throws Exception {
        start(withTls(true));
        assertThrows(IOException.class, () -> send(trusting("authority.pem"), "GET", SCHEDULER, null));
    }

    @Test
    void keysThatAreNoneOrThatOthersMayReadAreRefused() throws Exception {
        ObjectNode lax = withTls(false);
        keyFile("server.key", "rw-r--r--");
        assertRefused("chmod 600", lax);
        ObjectNode noKey = withTls(false);
        noKey.withObject("/tls").put("key", keyFile("server.pem", "rw-------"));
        assertRefused("expected an unencrypted PKCS #8 key", noKey);
        ObjectNode noCertificate = withTls(false);
        noCertificate.withObject("/tls").put("certificate", TLS.resolve("server.key").toString());
        assertRefused("server.key", noCertificate);
        ObjectNode misspelt = settings();
        misspelt.putObject("tls").put("certifcate", "x");
        assertRefused("did you mean 'certificate'", misspelt);
    }

    // ---- metrics ----

    @Test
    void metricsAreThereForPrometheus() throws Exception {
        start(settings());
        HttpResponse<String> response = send(plain(), "GET", "/metrics", null);
        assertEquals(200, response.statusCode());
        assertTrue(response.headers().firstValue("Content-Type").orElse("").startsWith("text/plain"));
        for (String line : List.of("slotwise_controller_requests_received_total 32.0",
                "slotwise_controller_devices_ready 5.0", "slotwise_controller_phase{phase=\"steady\"} 1.0",
                "slotwise_controller_granted_slots{from=\"1\",to=\"2\"} 16.0",
                "slotwise_controller_backlog_bytes{from=\"1\",to=\"2\"} 400000.0",
                "slotwise_controller_requests_refused_total{reason=\"stale\"} 0.0",
                "slotwise_controller_member_messages_refused_total{reason=\"stale\"} 0.0")) {
            assertTrue(response.body().contains(line + "\n"), () -> line + " is not in\n" + response.body());
        }
        assertTrue(response.body().contains("jvm_memory_used_bytes"));
    }

    @Test
    void whoWouldRatherHaveMetricsAsProtobufGetsText() throws Exception {
        start(settings());
        Map<String, String> types = Map.of(
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;q=0.5",
                "text/plain", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text");
        for (Map.Entry<String, String> type : types.entrySet()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(served.url() + "/metrics")).header("Accept", type.getKey()).build();
            HttpResponse<String> response = plain().send(request, HttpResponse.BodyHandlers.ofString());
            assertEquals(200, response.statusCode(), type::getKey);
            assertTrue(response.headers().firstValue("Content-Type").orElse("").startsWith(type.getValue()), type::getKey);
        }
    }

    // ---- audit ----

    private List<String> lines(String name) throws IOException {
        return Files.readAllLines(directory.resolve(name));
    }

    @Test
    void whatWouldChangeSomethingIsWrittenDownAndReadingIsNot() throws Exception {
        start(settings());
        send(plain(), "GET", SCHEDULER, null);
        send(plain(), "PUT", SCHEDULER, null);
        send(plain(), "DELETE", SCHEDULER, null);
        served.close();
        assertEquals(List.of(
                "{\"time\":\"1970-01-01T00:00:00Z\",\"event\":\"request\",\"from\":\"127.0.0.1\",\"method\":\"PUT\","
                        + "\"path\":\"/slotwise/v1/star/scheduler\",\"status\":200}",
                "{\"time\":\"1970-01-01T00:00:00Z\",\"event\":\"request\",\"from\":\"127.0.0.1\",\"method\":\"DELETE\","
                        + "\"path\":\"/slotwise/v1/star/scheduler\",\"status\":405}"), lines("audit.jsonl"));
    }

    /** A file ends with the record that filled it. */
    @Test
    void filesAreKeptSmallAndSchedulesDisplaceNoAccess() throws IOException {
        served.audit().request("192.0.2.1", "PUT", SCHEDULER, 200);
        for (int version = 1; version <= 20; version++) {
            served.audit().history(JSON.createObjectNode().put("event", "schedule").put("version", version).put("changed_connections", 7));
        }
        served.close();
        for (String name : List.of("schedules.jsonl", "schedules.1.jsonl")) {
            long longest = lines(name).stream().mapToLong(String::length).max().orElseThrow();
            assertTrue(Files.size(directory.resolve(name)) <= 400 + longest, name);
        }
        assertTrue(lines("audit.jsonl").get(0).contains("192.0.2.1"));
        List<String> schedules = lines("schedules.jsonl");
        JsonNode last = JSON.readTree(schedules.get(schedules.size() - 1));
        assertEquals(20, last.get("version").intValue());
        assertEquals(7, last.get("changed_connections").intValue());
    }

    /** A directory that is not empty is in the way of what the full file would be called. */
    @Test
    void aFailedRotationDoesNotEndTheLog() throws IOException {
        Files.createDirectories(directory.resolve("schedules.1.jsonl").resolve("in the way"));
        for (int version = 1; version <= 20; version++) {
            served.audit().history(JSON.createObjectNode().put("event", "schedule").put("version", version).put("changed_connections", 7));
        }
        served.close();
        List<String> schedules = lines("schedules.jsonl");
        assertEquals(20, JSON.readTree(schedules.get(schedules.size() - 1)).get("version").intValue());
    }
}
