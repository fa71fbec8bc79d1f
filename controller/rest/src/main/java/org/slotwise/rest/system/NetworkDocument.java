// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;

/**
 * What a controller runs, in the form of {@code schema/network.schema.json}: {@code {"apps": {"star": ..., "routes": ..., ...}}}, or
 * the part of the one system that may stand alone ({@link SystemKind#mayBeWholeDocument}).
 */
public final class NetworkDocument {
    private static final String APPS = "apps";

    private final Map<String, SystemPart<?>> parts;
    private final List<Node> nodes;

    /** Throws {@link InvalidJsonException} if the systems cannot run side by side. */
    private NetworkDocument(String place, Map<String, SystemPart<?>> parts) throws InvalidJsonException {
        this.parts = parts;
        try {
            // Systems that have one switch both want different programs on it.
            this.nodes = Topology.union(parts.values().stream().map(SystemPart::topology).collect(Collectors.toList())).nodes();
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException(place, e.getMessage());
        }
    }

    /** Reads and checks all of it; {@code where} is its place in a larger document, or empty. */
    public static NetworkDocument decode(String where, JsonNode value, SystemKinds kinds) throws InvalidJsonException {
        JsonFields document = JsonFields.open(where, value);
        Optional<SystemKind<?>> alone = kinds.all().values().stream().filter(SystemKind::mayBeWholeDocument).findFirst();
        if (document.optional(APPS).isEmpty() && alone.isPresent()) {
            return new NetworkDocument(where, Map.of(alone.get().id(), alone.get().read(where, value)));
        }
        JsonFields.of(where, value, APPS);
        String place = document.place(APPS);
        JsonFields apps = JsonFields.of(place, document.required(APPS), kinds.all().keySet().toArray(new String[0]));
        Map<String, SystemPart<?>> parts = new LinkedHashMap<>();
        for (SystemKind<?> system : kinds.all().values()) {
            Optional<JsonNode> part = apps.optional(system.id());
            if (part.isPresent()) {
                parts.put(system.id(), system.read(apps.place(system.id()), part.get()));
            }
        }
        if (parts.isEmpty()) {
            throw new InvalidJsonException(place, "no applications; expected at least one");
        }
        return new NetworkDocument(place, parts);
    }

    /** All switches. */
    public List<Node> nodes() {
        return nodes;
    }

    /** The part of each system that there is, by its name, in the order of their kinds. */
    public Map<String, SystemPart<?>> parts() {
        return parts;
    }
}
