// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.function.Supplier;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.star.schedule.InvalidSettingsException;

/**
 * What one application shows and lets be changed over REST, below {@code /slotwise/v1/apps/{id}}: a host names one for each
 * application that it runs ({@link ControllerService#apps}). May be called from any thread.
 */
public interface AppResources {
    /** The application's name. */
    String id();

    /** One sentence. */
    String description();

    /** Resources that can be read, by name. */
    Map<String, Supplier<JsonNode>> reads();

    /** Resources that can be changed, by name; each can be read, too. */
    Map<String, Change> changes();

    /** Changes something. */
    interface Change {
        /** Takes what was sent, and returns what holds now; throws for what makes no sense. */
        JsonNode apply(JsonNode body) throws InvalidJsonException, InvalidSettingsException;
    }
}
