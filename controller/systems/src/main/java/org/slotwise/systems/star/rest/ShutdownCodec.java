// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.star.app.MasterShutdown;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.WireConstants;

/** Masters that are shut down: {@code {"core": 0, "shut_down": true}}. */
public final class ShutdownCodec {
    private ShutdownCodec() {
    }

    /** Reads and checks what is wanted of a core of {@code network}. */
    public static MasterShutdown decode(Network network, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of("", value, "core", "shut_down");
        CoreId core = CoreId.of((int) fields.integer("core", 0, WireConstants.MAX_CORES - 1));
        JsonNode down = fields.required("shut_down");
        if (!down.isBoolean()) {
            throw new InvalidJsonException("shut_down", "expected true or false");
        }
        if (find(network, core).isEmpty()) {
            throw new InvalidJsonException("core", "unknown core " + core + "; expected one of "
                    + network.cores().stream().map(other -> other.id().toString()).collect(Collectors.joining(", ")));
        }
        return new MasterShutdown(core, down.booleanValue());
    }

    /** Writes all masters. */
    public static ObjectNode encode(Snapshot snapshot) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        ArrayNode masters = node.putArray("masters");
        for (Snapshot star : snapshot.states()) {
            masters.add(encode(star.network(), star.network().core().id(), star.isShutDown()));
        }
        return node;
    }

    /** Writes one master. */
    public static ObjectNode encode(Network network, CoreId core, boolean down) {
        return JsonNodeFactory.instance.objectNode().put("core", core.value())
                .put("master", find(network, core).orElseThrow().master().value()).put("shut_down", down);
    }

    private static Optional<Core> find(Network network, CoreId core) {
        return network.cores().stream().filter(other -> other.id().equals(core)).findFirst();
    }
}
