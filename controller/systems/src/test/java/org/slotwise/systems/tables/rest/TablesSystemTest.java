// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.rest;

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
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.AppHost;
import org.slotwise.control.AppState;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.page.RunningApps;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.system.HostedSystems;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.systems.Systems;

class TablesSystemTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String EXAMPLE = "network-tables.json";

    private final JsonSchema schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
            .getSchema(JSON.readTree(Path.of("../../schema/network.schema.json").toFile()));

    TablesSystemTest() throws IOException {
    }

    private static ObjectNode part(ObjectNode document) {
        return (ObjectNode) document.at("/apps/tables");
    }

    private static ObjectNode example(Consumer<ObjectNode> change) throws IOException {
        ObjectNode document = (ObjectNode) RunningApps.example(EXAMPLE);
        change.accept((ObjectNode) part(document).at("/entries/0"));
        return document;
    }

    private void isRefused(String reason, Consumer<ObjectNode> change, boolean schemaKnows) throws IOException {
        ObjectNode document = example(change);
        assertEquals(schemaKnows, !schema.validate(document).isEmpty(), document::toString);
        assertEquals(reason, assertThrows(InvalidJsonException.class, () -> TablesCodec.decode("", part(document))).getMessage());
    }

    @Test
    void entriesAreReadBySwitchInTheirOrder() throws Exception {
        ObjectNode document = example(entry -> { });
        assertTrue(schema.validate(document).isEmpty(), () -> schema.validate(document).toString());
        List<String> first = TablesCodec.decode("", part(document)).of(DeviceId.of(2001)).stream()
                .map(TableEntry::toString).collect(Collectors.toList());
        assertEquals(List.of("marks[dst=167772673/32] -> mark{dscp=46}", "access[l4_dst=1024..2047, protocol=17&255]@10 -> deny{}"), first);
    }

    @Test
    void entriesThatCannotBeAreRefusedWithTheirPlace() throws Exception {
        isRefused("entries[0].params.dscp: expected 0x and 1 .. 16 hexadecimal digits in lower case, got '46'",
                entry -> entry.withObject("/params").put("dscp", "46"), true);
        isRefused("entries[0].priority: expected an integer 1 .. 2147483647, got 0", entry -> entry.put("priority", 0), true);
        isRefused("entries[0].match[0].prefix_bits: expected an integer 1 .. 64, got 0",
                entry -> ((ObjectNode) entry.at("/match/0")).put("prefix_bits", 0), true);
        isRefused("entries[0].match[0].mask: unknown field; expected one of field, low, high",
                entry -> entry.withArray("/match").removeAll().addObject().put("field", "dst").put("low", "0x1").put("high", "0x2")
                        .put("mask", "0x1"), true);
    }

    @Test
    void anEntryThatIsThereTwiceIsRefused() throws Exception {
        ObjectNode twice = part(example(entry -> { }));
        twice.withArray("entries").insert(1, twice.at("/entries/0").deepCopy());
        assertEquals("entries[1].match: duplicate entry marks[dst=167772673/32]; expected each key once per switch",
                assertThrows(InvalidJsonException.class, () -> TablesCodec.decode("", twice)).getMessage());
    }

    @Test
    void resourcesShowTheEntriesOfEachSwitch() throws Exception {
        SystemResources<?> tables = RunningApps.of(EXAMPLE).apps().get(1);
        JsonNode status = tables.read("status");
        assertEquals("{\"configured\":true,\"entries\":4,\"write_failures\":0}", status.toString());
        JsonNode shown = JSON.readTree(tables.read("entries").toString());
        assertEquals("marks[] -> mark{dscp=0}", shown.at("/switches/1/entries/0").textValue());
        assertTrue(shown.at("/switches/1/settled").booleanValue());
    }

    @Test
    void tablesOfAnotherApplicationAndSwitchesOfNoneAreRefused() throws Exception {
        JsonNode owned = example(entry -> entry.put("table", "ipv4_route"));
        assertEquals("applications 'routes' and 'tables' both own tables ipv4_route of device 2001", conflict(owned));
        JsonNode unknown = example(entry -> entry.put("device_id", 7));
        assertEquals("application 'tables': device 7 is not in the network", conflict(unknown));
        assertFalse(NetworkDocument.decode("", unknown, Systems.all()).parts().isEmpty());
    }

    private static String conflict(JsonNode document) throws InvalidJsonException {
        NetworkDocument network = NetworkDocument.decode("", document, Systems.all());
        return assertThrows(AppHost.ConflictException.class, () -> new HostedSystems(network,
                id -> AppState.none())).getMessage();
    }
}
