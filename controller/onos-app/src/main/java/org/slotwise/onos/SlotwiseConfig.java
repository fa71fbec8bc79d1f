// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.Config;
import org.onosproject.net.config.InvalidFieldException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.NetworkDocument;
import org.slotwise.ring.FairnessApp;
import org.slotwise.routes.RoutesApp;
import org.slotwise.star.StarApp;
import org.slotwise.star.schedule.Schedulers;

/**
 * What the controller is to run, in ONOS's network configuration below {@code apps/org.slotwise.app}: under {@code network} all of
 * it, in the form of {@code schema/network.schema.json}; or the part of each application under its name.
 */
public class SlotwiseConfig extends Config<ApplicationId> {
    /** Key below the application. */
    public static final String KEY = "network";

    /** The part of the star. */
    public static final class Star extends SlotwiseConfig {
        @Override
        JsonNode whole() {
            return apps(StarApp.ID, object);
        }
    }

    /** The part of the routers. */
    public static final class Routes extends SlotwiseConfig {
        @Override
        JsonNode whole() {
            return apps(RoutesApp.ID, object);
        }
    }

    /** The packet ring. */
    public static final class Ring extends SlotwiseConfig {
        @Override
        JsonNode whole() {
            return apps(FairnessApp.ID, object);
        }
    }

    private static ObjectNode apps(String app, JsonNode part) {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.putObject("apps").set(app, part);
        return document;
    }

    /** Always true: throws InvalidFieldException with place and reason instead of saying no. */
    @Override
    public boolean isValid() {
        document();
        return true;
    }

    /** All that it says, as a network. */
    JsonNode whole() {
        return object;
    }

    /** The network; throws InvalidFieldException. */
    NetworkDocument document() {
        try {
            return NetworkDocument.decode("", whole(), Schedulers.ours());
        } catch (InvalidJsonException e) {
            throw new InvalidFieldException(key(), e.getMessage());
        }
    }
}
