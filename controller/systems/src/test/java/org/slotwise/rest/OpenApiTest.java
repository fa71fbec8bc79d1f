// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.slotwise.apps.SystemResources;
import org.slotwise.page.RunningApps;
import org.slotwise.systems.Systems;

/** The document names all that there is below {@code apps/}. */
class OpenApiTest {
    private static final List<String> NETWORKS =
            List.of("network-star4.json", "network-routers.json", "network-ring.json", "network-ops.json", "network-lambda.json");

    private static Set<String> named(String parameter) {
        Set<String> names = new TreeSet<>();
        JsonNode all = new OpenApiResource().json().at("/components/parameters/" + parameter + "/schema/enum");
        all.forEach(name -> names.add(name.textValue()));
        return names;
    }

    @Test
    void theDocumentNamesAllApplicationsAndTheirResources() throws Exception {
        Set<String> apps = new TreeSet<>();
        Set<String> resources = new TreeSet<>();
        for (String network : NETWORKS) {
            for (SystemResources<?> app : RunningApps.of(network).apps()) {
                apps.add(app.id());
                resources.addAll(app.reads().keySet());
            }
        }
        assertEquals(Systems.all().all().keySet(), apps, "a network of each");
        assertEquals(apps, named("AppId"));
        assertEquals(resources, named("AppResource"));
    }
}
