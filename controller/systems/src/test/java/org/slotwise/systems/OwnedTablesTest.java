// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.topology.Node;
import org.slotwise.page.RunningApps;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.systems.tables.app.TablesApp;

/** Compares the tables that applications declare with the list that scenarios with {@code tables} are checked against. */
class OwnedTablesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path LIST = Path.of("../../schema/tables.json");
    private static final List<String> NETWORKS = List.of("network-star4.json", "network-routers.json", "network-ring.json", "network-ops.json");

    /** Returns tables by application and program. */
    private static Map<String, Map<String, Set<String>>> declared() throws Exception {
        Map<String, Map<String, Set<String>>> tables = new TreeMap<>();
        for (String network : NETWORKS) {
            NetworkDocument document = NetworkDocument.decode("", RunningApps.example(network), Systems.all());
            for (SystemPart<?> part : document.parts().values()) {
                App<?> app = part.make(AppState.none());
                for (Node node : document.nodes()) {
                    tables.computeIfAbsent(app.id(), any -> new TreeMap<>()).computeIfAbsent(node.program(), any -> new TreeSet<>())
                            .addAll(app.owns().tables(node.device()));
                }
            }
        }
        return tables;
    }

    @Test
    void theListForScenariosHasAllTablesOfApplications() throws Exception {
        Map<String, Map<String, Set<String>>> declared = declared();
        if (System.getProperty("tables.write") != null) {
            Files.writeString(LIST, JSON.writerWithDefaultPrettyPrinter().writeValueAsString(declared) + "\n");
        }
        assertEquals(JSON.valueToTree(declared), JSON.readTree(LIST.toFile()), "-Dtables.write writes " + LIST);
    }

    @Test
    void eachSystemWithSwitchesIsInTheList() throws IOException {
        Set<String> systems = new TreeSet<>(Systems.all().all().keySet());
        // Sessions have no switches, and further entries no tables of their own.
        systems.removeAll(List.of("lambda", TablesApp.ID));
        Set<String> listed = new TreeSet<>();
        JSON.readTree(LIST.toFile()).fieldNames().forEachRemaining(listed::add);
        assertEquals(systems, listed);
    }
}
