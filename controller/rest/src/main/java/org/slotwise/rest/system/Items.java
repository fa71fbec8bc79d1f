// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Optional;
import org.slotwise.rest.json.InvalidJsonException;

/**
 * Values that can be changed: one resource, or one each below a resource that lists them, such as the weight of each class. Each has its
 * place in the path below that, by the names of fields, in order. Changes to one system are made one at a time.
 *
 * @param <V> what the system shows of itself
 */
public interface Items<V> {
    /** Schemas of the fields in the path, by name, in order. */
    Map<String, ObjectNode> place();

    /** Schema of the body for a place, without that place. */
    ObjectNode sent();

    /** Schema of the value at a place, with that place. */
    ObjectNode shown();

    /** Returns what holds at a place; empty if there is nothing. */
    Optional<JsonNode> read(V view, ObjectNode place);

    /** Changes what is at a place, or puts something there, and returns what holds now; empty if the network has no such place. */
    Optional<JsonNode> put(SystemResources<V> system, ObjectNode place, JsonNode body) throws InvalidJsonException;

    /** Returns the reason why there is nothing at a place. */
    default String unknown(ObjectNode place) {
        return "nothing at this place; see the resource above";
    }

    /** Returns whether what is at a place can go. */
    default boolean canDelete() {
        return false;
    }

    /** Removes what is at a place; returns false if there was nothing. */
    default boolean delete(SystemResources<V> system, ObjectNode place) {
        throw new UnsupportedOperationException();
    }
}
