// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slotwise.rest.json.InvalidJsonException;

/**
 * What one application shows and lets be changed over REST, below {@code /slotwise/v1/apps/{id}}: a host names one for each
 * application that it runs ({@link org.slotwise.rest.ControllerService#apps}). May be called from any thread.
 */
public interface AppResources {
    /** The application's name. */
    String id();

    /** One sentence. */
    String description();

    /** Resources that can be read, by name. */
    Map<String, Supplier<JsonNode>> reads();

    /** Of resources that list what has names: the list of what has one of them, at most one, in the form of the whole. By name of the resource. */
    default Map<String, Function<String, JsonNode>> parts() {
        return Map.of();
    }

    /** Resources as text for a terminal, by name: a line each. */
    default Map<String, Supplier<List<String>>> texts() {
        return Map.of();
    }

    /** Resources that can be changed, by name; each can be read, too. */
    Map<String, Change> changes();

    /** What is counted and measured of it now. */
    default List<Metric> metrics() {
        return List.of();
    }

    /** What it says of itself on the live page now; empty if it has nothing to say there. */
    default Optional<AppPage> page() {
        return Optional.empty();
    }

    /** What was asked for makes sense, but not of this network. */
    final class NotHereException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason, which callers may see. */
        public NotHereException(String reason) {
            super(reason);
        }
    }

    /** Changes something. */
    interface Change {
        /** Takes what was sent, and returns what holds now; throws for what makes no sense, or {@link NotHereException}. */
        JsonNode apply(JsonNode body) throws InvalidJsonException;
    }
}
