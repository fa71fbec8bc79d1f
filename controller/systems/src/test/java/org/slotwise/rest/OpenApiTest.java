// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.OpenApiDocument;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.page.RunningApps;
import org.slotwise.systems.Systems;

class OpenApiTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path HAND_WRITTEN = Path.of("../rest/src/main/openapi/base.yaml");
    private static final Path ASSEMBLED = Path.of("../rest/src/main/resources/openapi.yaml");
    private static final String HEADER = "# SPDX-License-Identifier: Apache-2.0\n"
            + "# Assembled by OpenApiTest; to write it: mvn test -pl systems -am -Dtest=OpenApiTest -Dopenapi.write"
            + " -Dsurefire.failIfNoSpecifiedTests=false\n";

    private static String assembled() throws Exception {
        Map<String, SystemPart<?>> parts = new LinkedHashMap<>();
        for (String network : RunningApps.examples()) {
            NetworkDocument.decode("", RunningApps.example(network), Systems.all()).parts().forEach(parts::putIfAbsent);
        }
        List<SystemPart<?>> systems = List.copyOf(parts.values());
        assertEquals(Systems.all().all().size(), systems.size(), "a network of each");
        YAMLMapper yaml = YAMLMapper.builder().disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER).disable(YAMLGenerator.Feature.SPLIT_LINES)
                .enable(YAMLGenerator.Feature.MINIMIZE_QUOTES).build();
        return HEADER + yaml.writeValueAsString(OpenApiDocument.of(new YAMLMapper().readTree(HAND_WRITTEN.toFile()), systems));
    }

    @Test
    void theDocumentIsThatOfTheTablesOfResources() throws Exception {
        String assembled = assembled();
        if (System.getProperty("openapi.write") != null) {
            Files.writeString(ASSEMBLED, assembled);
        }
        assertEquals(assembled, Files.readString(ASSEMBLED));
    }

    @Test
    void everyResourceOfEverySystemIsAsDescribed() throws Exception {
        JsonNode document = new OpenApiResource().json();
        for (String network : RunningApps.examples()) {
            for (SystemResources<?> system : RunningApps.of(network).apps()) {
                for (Map.Entry<String, Supplier<JsonNode>> resource : system.reads().entrySet()) {
                    String path = "/slotwise/v1/" + system.id() + "/" + resource.getKey();
                    ObjectNode schema = document.get("paths").get(path).at("/get/responses/200/content/application~1json/schema").deepCopy();
                    schema.set("components", document.get("components"));
                    JsonNode value = JSON.readTree(resource.getValue().get().toString());
                    assertEquals(Set.of(), JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(schema).validate(value), path);
                }
            }
        }
    }

    @Test
    void everySchemaIsUsed() throws IOException {
        JsonNode document = new OpenApiResource().json();
        Set<String> used = new TreeSet<>();
        document.findValuesAsText("$ref").forEach(reference -> used.add(reference.substring(reference.lastIndexOf('/') + 1)));
        Set<String> unused = new TreeSet<>();
        document.at("/components/schemas").fieldNames().forEachRemaining(unused::add);
        unused.removeAll(used);
        assertEquals(Set.of(), unused);
        assertTrue(document.at("/info/version").textValue().startsWith("1."), "as in the path");
    }
}
