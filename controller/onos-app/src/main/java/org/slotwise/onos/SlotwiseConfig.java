// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.function.Supplier;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.Config;
import org.onosproject.net.config.InvalidFieldException;
import org.slotwise.rest.system.NetworkDocument;
import org.slotwise.rest.system.SystemKinds;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.Systems;

/**
 * What the controller is to run, in ONOS's network configuration below {@code apps/org.slotwise.app}: under {@code network} all of
 * it, in the form of {@code schema/network.schema.json}; or the part of each application under its name.
 */
public class SlotwiseConfig extends Config<ApplicationId> {
    /** Key below the application. */
    public static final String KEY = "network";
    /** ONOS knows keys by classes of their own, which are given out to applications in their order; more than there are. */
    // A reference to a constructor initializes no class.
    @SuppressWarnings("ClassInitializationDeadlock")
    static final List<Supplier<? extends SlotwiseConfig>> OF_APPLICATIONS = List.of(
            First::new, Second::new, Third::new, Fourth::new, Fifth::new, Sixth::new, Seventh::new, Eighth::new);

    private SystemKinds applications = Systems.all();

    /** Configuration of the first application. */
    public static final class First extends SlotwiseConfig {
    }

    /** Configuration of the second application. */
    public static final class Second extends SlotwiseConfig {
    }

    /** Configuration of the third application. */
    public static final class Third extends SlotwiseConfig {
    }

    /** Configuration of the fourth application. */
    public static final class Fourth extends SlotwiseConfig {
    }

    /** Configuration of the fifth application. */
    public static final class Fifth extends SlotwiseConfig {
    }

    /** Configuration of the sixth application. */
    public static final class Sixth extends SlotwiseConfig {
    }

    /** Configuration of the seventh application. */
    public static final class Seventh extends SlotwiseConfig {
    }

    /** Configuration of the eighth application. */
    public static final class Eighth extends SlotwiseConfig {
    }

    /** Of these applications, if not of those that come with the controller. */
    SlotwiseConfig of(SystemKinds known) {
        this.applications = known;
        return this;
    }

    /** Always true: throws InvalidFieldException with place and reason instead of saying no. */
    @Override
    public boolean isValid() {
        document();
        return true;
    }

    /** All that it says, as a network. */
    private JsonNode whole() {
        if (key().equals(KEY)) {
            return object;
        }
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.putObject("apps").set(key(), object);
        return document;
    }

    /** The network; throws InvalidFieldException. */
    NetworkDocument document() {
        try {
            return NetworkDocument.decode("", whole(), applications);
        } catch (InvalidJsonException e) {
            throw new InvalidFieldException(key(), e.getMessage());
        }
    }
}
