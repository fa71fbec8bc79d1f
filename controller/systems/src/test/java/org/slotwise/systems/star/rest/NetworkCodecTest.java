// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.Systems;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.Schedulers;

/** The reader and {@code schema/network.schema.json} must agree; both are tried on the same example files. */
class NetworkCodecTest {
    private static final Path SCHEMAS = Path.of("../../schema");
    /** Examples that are wrong only between parts of the document, which no schema sees. */
    private static final Set<String> BETWEEN_PARTS = Set.of("network-invalid-prefix-twice.json",
            "network-invalid-ring-reports-too-rare.json", "network-invalid-ops-class-of-everything.json", "network-invalid-ops-fibres-one-way.json");
    private static final String PREFIX = "network-";
    private static final String INVALID_PREFIX = PREFIX + "invalid-";

    private final JsonNode schemaText = read(SCHEMAS.resolve("network.schema.json"));
    private final JsonSchema schema =
            JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(schemaText);

    @Test
    void validExamplesAreAcceptedByBoth() throws Exception {
        for (Path file : examples(false)) {
            JsonNode network = read(file);
            assertEquals(Map.of(), Map.copyOf(violations(network)), file::toString);
            NetworkDocument.decode("", network, Systems.all());
        }
    }

    /** What the engine makes of the examples of scenarios, largest values included. */
    @Test
    void networksOfScenariosAreAcceptedByBoth() throws Exception {
        List<Path> files;
        try (Stream<Path> listed = Files.list(SCHEMAS.resolve("examples/networks"))) {
            files = listed.sorted().collect(Collectors.toList());
        }
        assertFalse(files.isEmpty());
        for (Path file : files) {
            JsonNode network = read(file);
            assertEquals(Map.of(), Map.copyOf(violations(network)), file::toString);
            NetworkDocument decoded = NetworkDocument.decode("", network, Systems.all());
            assertEquals(network.has("apps") && network.get("apps").has("routes"), decoded.parts().containsKey("routes"), file::toString);
        }
    }

    @Test
    void invalidExamplesAreRefusedWithPlaceAndReasonAndBySchemaUnlessItIsBetweenParts() throws IOException {
        Map<String, String> reasons = new TreeMap<>();
        for (Path file : examples(true)) {
            JsonNode network = read(file);
            assertEquals(BETWEEN_PARTS.contains(file.getFileName().toString()), violations(network).isEmpty(), file::toString);
            Exception refusal = assertThrows(Exception.class, () -> {
                NetworkDocument.decode("", network, Systems.all());
            }, file::toString);
            reasons.put(file.getFileName().toString(), refusal.getMessage());
        }
        Map<String, String> expected = new TreeMap<>(Map.of(
                "network-invalid-bad-ip.json", "edges[1].hosts[0].ip: expected an IPv4 address (four numbers 0 .. 255"
                        + " separated by dots), got '10.0.1.256'",
                "network-invalid-missing-mac.json", "edges[2].mac: missing",
                "network-invalid-rate-out-of-range.json",
                "edges[0].fibres[0].rate_bps: expected an integer 1000000 .. 400000000000, got 0",
                "network-invalid-slot-is-text.json",
                "frame.slots: expected an integer 1 .. 4096, got a value of type string",
                "network-invalid-nine-cores.json", "cores: expected 1 .. 8, got 9",
                "network-invalid-unknown-key.json", "frame.guard_nss: unknown field; did you mean 'guard_ns'?",
                "network-invalid-unknown-signaling.json",
                "frame.signaling: expected in-band or out-of-band, got 'by-post'",
                "network-invalid-unknown-scheduler.json", "scheduler: unknown scheduler 'Fare'; expected one of fair, islip, pim, maximum-weight, solstice, rotation",
                "network-invalid-unknown-membership.json",
                "membership: expected static or invitation, got 'volunteers'",
                "network-invalid-xcp-is-text.json", "xcp: expected true or false, got a value of type string"));
        expected.put("network-invalid-unknown-application.json", "apps.wavelengths: unknown field; expected one of "
                + String.join(", ", Systems.all().all().keySet()));
        expected.put("network-invalid-lambda-no-rate.json", "apps.lambda.nodes[0].up_bps: missing");
        expected.put("network-invalid-ring-mode.json", "apps.ring.mode: expected one of explicit, adaptive, controller, rpr-aggressive,"
                + " rpr-conservative, got 'round-robin'");
        expected.put("network-invalid-ring-class.json", "apps.ring.stations[0].classes[0].class: expected one of best-effort, committed,"
                + " reserved, got 'excess'");
        expected.put("network-invalid-ring-reports-too-rare.json", "apps.ring.report_intervals: expected less than 'hold_intervals', 10,"
                + " so that advertised rates outlive a report interval, got 10");
        expected.put("network-invalid-ops-scheme.json", "apps.ops.aggregation.scheme: expected none, full, class or flow, got 'some'");
        expected.put("network-invalid-ops-class-of-everything.json", "apps.ops.classes[2].match: missing; expected 'dscp' or"
                + " 'acknowledgements' for a class above 0");
        expected.put("network-invalid-ops-fibres-one-way.json", "apps.ops.edges[0].fibres[0].to: 'e0' has 2 fibres to 'e1'; expected 1, as in the other direction");
        expected.put("network-invalid-ops-switch-and-fibres.json", "apps.ops.edges[0].switch: not allowed with 'fibres' to other edges");
        expected.put("network-invalid-ops-share-alpha.json", "apps.ops.macroflows.share.alpha: expected a value above 0 and below 1, got 1.0");
        expected.put("network-invalid-prefix.json", "apps.routes.routing.routes[0].prefix: expected a prefix (IPv4 address, slash,"
                + " 0 .. 32), got '10.1.0.0/40'");
        expected.put("network-invalid-prefix-twice.json",
                "apps.routes.routing.routes[2].prefix: duplicate route to 10.1.0.2/32 of device 2002");
        expected.put("network-invalid-peer-and-hosts.json",
                "apps.routes.nodes[0].ports[0]: expected either 'peer' or 'hosts'");
        expected.put("network-invalid-host-for-all.json", "apps.routes.nodes[0].ports[2].hosts[0].ip: expected a host address"
                + " 1.0.0.0 .. 223.255.255.255 outside 127.0.0.0/8, got '255.255.255.255'");
        expected.put("network-invalid-mac-of-a-group.json", "apps.routes.nodes[0].mac: expected a unicast MAC address that is not"
                + " all zeros, got 'ff:ff:ff:ff:ff:ff'");
        expected.put("network-invalid-name-of-two-lines.json", "apps.routes.nodes[0].name: invalid name; expected 1 .. 128 visible ASCII characters");
        assertEquals(expected,
                reasons);
    }

    @Test
    void exampleOfTheMainScenarioIsReadWhole() throws Exception {
        Network network = NetworkCodec.decode("", read(SCHEMAS.resolve("examples/network-star4.json")));
        assertEquals(4, network.edges().size());
        assertEquals("h3_1", network.edges().get(3).hosts().get(1).name());
        assertEquals(100_000, network.edges().get(3).fibre().delayNs());
        assertEquals(1001, network.core().device().value());
        assertEquals(5920, network.slotPayloadBytes(network.master()));
        assertFalse(network.xcp());
        assertTrue(network.xcpBps().isEmpty());
        assertEquals(0, network.timestampToleranceNs());
    }

    @Test
    void whatMayBeMissingIsRead() throws Exception {
        Network network = NetworkCodec.decode("", read(SCHEMAS.resolve("examples/network-two-edges.json")));
        assertTrue(network.xcp());
        assertEquals(8_000_000, network.xcpBps().orElseThrow());
        assertEquals(50_000_000, network.timestampToleranceNs());
    }

    @Test
    void severalCoresAndFibresAreRead() throws Exception {
        Network network = NetworkCodec.decode("", read(SCHEMAS.resolve("examples/network-star4-twin.json")));
        assertEquals(2, network.stars().size());
        Network second = network.stars().get(1);
        assertEquals(1, second.master().id().value());
        assertEquals(257, second.edges().get(3).fibre().port());
        assertEquals(50_000, second.edges().get(3).fibre().delayNs());
    }

    @Test
    void portsOfTheCoreThatEdgesShareAreRead() throws Exception {
        JsonNode example = read(SCHEMAS.resolve("examples/network-combiner.json"));
        Network network = NetworkCodec.decode("", example);
        assertEquals(3, network.corePorts().count());
        assertEquals(2, network.corePorts().edgesAt(2));
        ObjectNode fibre = (ObjectNode) example.at("/edges/3/fibres/0");
        for (int bad : new int[] {-1, 240}) {
            fibre.put("core_port", bad);
            assertEquals("edges[3].fibres[0].core_port: expected an integer 0 .. 239, got " + bad,
                    assertThrows(InvalidJsonException.class, () -> NetworkCodec.decode("", example)).getMessage());
            assertFalse(violations(example).isEmpty());
        }
        fibre.put("core_port", 0);
        assertEquals("edges[3].fibres[0].core_port: port 0 of core 0 belongs to its master; expected a port that the master does not use",
                assertThrows(InvalidJsonException.class, () -> NetworkCodec.decode("", example)).getMessage());
    }

    @Test
    void signalingIsInBandUnlessSaidOtherwise() throws Exception {
        assertFalse(NetworkCodec.decode("", read(SCHEMAS.resolve("examples/network-star4.json"))).outOfBand());
        Network slotBased = NetworkCodec.decode("", read(SCHEMAS.resolve("examples/network-slot-based.json")));
        assertTrue(slotBased.outOfBand());
        assertEquals(1, slotBased.dataSlots());
        // The master's fibre has 5 us.
        assertEquals(1000, slotBased.coreLagNs());
    }

    @Test
    void edgesAskInEveryFrameUnlessSaidOtherwise() throws Exception {
        JsonNode network = read(SCHEMAS.resolve("examples/network-star4.json"));
        assertEquals(1, NetworkCodec.decode("", network).frame().requestIntervalFrames());
        ObjectNode frame = (ObjectNode) network.get("frame");
        frame.put("request_interval_frames", 16);
        assertEquals(0, violations(network).size());
        assertEquals(16, NetworkCodec.decode("", network).frame().requestIntervalFrames());
        frame.put("request_interval_frames", 12);
        assertEquals(1, violations(network).size());
        assertEquals("network.frame.request_interval_frames: expected a power of two 1 .. 64, got 12",
                assertThrows(InvalidJsonException.class, () -> NetworkCodec.decode("network", network)).getMessage());
    }

    @Test
    void placeInALargerDocumentIsNamed() throws IOException {
        JsonNode network = read(SCHEMAS.resolve("examples/network-invalid-missing-mac.json"));
        assertEquals("network.edges[2].mac: missing",
                assertThrows(InvalidJsonException.class, () -> NetworkCodec.decode("network", network)).getMessage());
    }

    @Test
    void brokenJsonIsRefusedWithThePlace() {
        for (String text : List.of("", "{", "{\"a\":1,\"a\":2}", "{} {}", "[1,", "nul", "\u0000")) {
            assertThrows(InvalidJsonException.class, () -> JsonFields.parse(text.getBytes(StandardCharsets.UTF_8)), text);
        }
        assertEquals("line 1, column 8: not JSON: Duplicate field 'a'",
                assertThrows(InvalidJsonException.class, () -> JsonFields.parse("{\"a\":1,\"a\":2}".getBytes(StandardCharsets.UTF_8)))
                        .getMessage().replaceFirst("column \\d+", "column 8"));
        assertEquals("line 1, column 16: not JSON: Unexpected end-of-input: expected close marker for Object",
                assertThrows(InvalidJsonException.class, () -> JsonFields.parse("{\"device_id\": 1".getBytes(StandardCharsets.UTF_8)))
                        .getMessage().replaceFirst("column \\d+", "column 16"));
        assertThrows(InvalidJsonException.class,
                () -> JsonFields.parse("[".repeat(100_000).getBytes(StandardCharsets.UTF_8)), "deep nesting");
    }

    @Test
    void schedulerSettingsMustBeTextOrWholeNumbers() {
        assertThrows(InvalidJsonException.class, () -> decode("{\"name\":\"fair\",\"settings\":{\"share\":1.5}}"));
        assertThrows(InvalidJsonException.class, () -> decode("{\"name\":\"fair\",\"settings\":[]}"));
        assertThrows(InvalidJsonException.class, () -> decode("{\"nam\":\"fair\"}"));
        assertThrows(InvalidJsonException.class, () -> decode("7"));
        assertThrows(InvalidSettingsException.class, () -> decode("{\"name\":\"fair\",\"settings\":{\"x\":\"y\"}}"));
    }

    private static void decode(String text) throws InvalidJsonException, InvalidSettingsException {
        SchedulerCodec.decode("", JsonFields.parse(text.getBytes(StandardCharsets.UTF_8)), Schedulers.ours());
    }

    private Map<String, String> violations(JsonNode network) {
        Map<String, String> messages = new TreeMap<>();
        schema.validate(network).forEach(message ->
                messages.put(message.getInstanceLocation() + " " + message.getType(), message.getMessage()));
        return messages;
    }

    private static List<Path> examples(boolean invalid) throws IOException {
        try (Stream<Path> files = Files.list(SCHEMAS.resolve("examples"))) {
            return files.filter(file -> file.getFileName().toString().startsWith(PREFIX)
                    && file.getFileName().toString().startsWith(INVALID_PREFIX) == invalid)
                    .sorted().collect(Collectors.toList());
        }
    }

    private static JsonNode read(Path file) {
        try {
            return new ObjectMapper().readTree(file.toFile());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void aSwitchOfTwoApplicationsIsRefused() throws Exception {
        JsonNode mixed = read(SCHEMAS.resolve("examples/network-mixed.json"));
        ((ObjectNode) mixed.at("/apps/routes/nodes/2")).put("device_id", 8);
        ((ObjectNode) mixed.at("/apps/routes/nodes/0/ports/1/peer")).put("device_id", 8);
        ((ObjectNode) mixed.at("/apps/routes/nodes/1/ports/1/peer")).put("device_id", 8);
        String reason = assertThrows(InvalidJsonException.class,
                () -> NetworkDocument.decode("", mixed, Systems.all())).getMessage();
        assertTrue(reason.startsWith("apps: device 8: conflicting definitions "), reason);
    }
}
