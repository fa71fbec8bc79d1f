// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.slotwise.rest.json.InvalidJsonException;

/**
 * A kind of system, and the only door by which one comes into a controller: {@code Systems} lists all. Whatever a
 * host does for a system, it does by this and by what {@link #read} gives, so that no host names one.
 *
 * @param <V> what it shows of itself, immutable
 */
public interface SystemKind<V> {
    /** Its name, as in {@link org.slotwise.control.App#id}: its key in the network's document, and its place in REST. */
    String id();

    /** Returns true if a document without {@code apps} is read as this system's part. */
    default boolean mayBeWholeDocument() {
        return false;
    }

    /** Names of the P4 programs that its switches run; several systems may name one. */
    List<String> programs();

    /** Returns the key of its section of a host's configuration; empty if it has none. */
    default Optional<String> section() {
        return Optional.empty();
    }

    /**
     * Reads its section of a host's configuration.
     *
     * @param where the place of the section
     * @param isVirtualTime whether time stands still while the extension works
     */
    default Extension extend(String where, JsonNode section, boolean isVirtualTime) throws IOException, InvalidJsonException {
        throw new InvalidJsonException(where, "not supported by application '" + id() + "'");
    }

    /**
     * Reads and checks its part of the network's document.
     *
     * @param where the place of {@code value} in the whole document, or empty
     */
    SystemPart<V> read(String where, JsonNode value) throws InvalidJsonException;
}
