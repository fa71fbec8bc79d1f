// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.onosproject.net.DeviceId;
import org.onosproject.net.config.InvalidFieldException;
import org.slotwise.onos.pipeline.Programs;

class SlotwiseConfigTest {
    private static final Path EXAMPLES = Path.of("../../schema/examples");
    private static final String NETWORK = "/apps/org.slotwise.app/network";

    @Test
    void theExampleForUsersHasTheExampleNetworkWithFewerRequests() throws IOException {
        JsonNode example = FakeOnos.exampleNetwork();
        ((ObjectNode) example.get("frame")).put("request_interval_frames", 8);
        assertEquals(example, read("netcfg-star4.json").at(NETWORK));
    }

    @ParameterizedTest
    @ValueSource(strings = {"netcfg-star4.json", "netcfg-star4-drift.json", "netcfg-star3-bmv2.json"})
    void examplesForUsersAreValidAndHaveTheSwitchesOfTheirNetworks(String file) throws IOException {
        JsonNode netcfg = read(file);
        JsonNode network = netcfg.at(NETWORK);
        assertTrue(FakeOnos.config(network).isValid());

        assertEquals(network.get("edges").size() + 1, netcfg.get("devices").size());
        for (Iterator<Map.Entry<String, JsonNode>> i = netcfg.get("devices").fields(); i.hasNext();) {
            Map.Entry<String, JsonNode> device = i.next();
            long id = SlotwiseDevices.p4runtime(DeviceId.deviceId(device.getKey())).orElseThrow().value();
            JsonNode basic = device.getValue().get("basic");
            assertTrue(basic.get("managementAddress").asText().endsWith("?device_id=" + id));
            assertEquals("slotwise", basic.get("driver").asText());
            assertEquals(Programs.id(id > 1000 ? "core" : "edge").id(), basic.get("pipeconf").asText());
        }
    }

    private static JsonNode read(String file) throws IOException {
        return new ObjectMapper().readTree(Path.of(file).toFile());
    }

    static List<Path> invalid() throws IOException {
        try (Stream<Path> files = Files.list(EXAMPLES)) {
            return files.filter(file -> file.getFileName().toString().startsWith("network-invalid-"))
                    .sorted().collect(Collectors.toList());
        }
    }

    @ParameterizedTest
    @MethodSource("invalid")
    void aBadNetworkIsRefusedWithPlaceAndReason(Path file) throws IOException {
        SlotwiseConfig config = FakeOnos.config(new ObjectMapper().readTree(file.toFile()));
        InvalidFieldException refused = assertThrows(InvalidFieldException.class, config::isValid);
        assertTrue(refused.getMessage().length() > 20, refused.getMessage());
    }
}
