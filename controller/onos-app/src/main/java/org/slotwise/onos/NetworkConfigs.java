// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.ConfigFactory;
import org.onosproject.net.config.NetworkConfigEvent;
import org.onosproject.net.config.NetworkConfigRegistry;
import org.onosproject.net.config.basics.SubjectFactories;
import org.slotwise.ring.FairnessApp;
import org.slotwise.routes.RoutesApp;
import org.slotwise.star.StarApp;

/** The keys of ONOS's network configuration that are this app's, put together: {@code network}, or those of the applications. */
final class NetworkConfigs {
    private final NetworkConfigRegistry registry;
    private final ApplicationId app;
    private final List<ConfigFactory<ApplicationId, ? extends SlotwiseConfig>> factories = List.of(
            new Factory<>(SlotwiseConfig.class, SlotwiseConfig.KEY, SlotwiseConfig::new),
            new Factory<>(SlotwiseConfig.Star.class, StarApp.ID, SlotwiseConfig.Star::new),
            new Factory<>(SlotwiseConfig.Routes.class, RoutesApp.ID, SlotwiseConfig.Routes::new),
            new Factory<>(SlotwiseConfig.Ring.class, FairnessApp.ID, SlotwiseConfig.Ring::new));

    private static final class Factory<C extends SlotwiseConfig> extends ConfigFactory<ApplicationId, C> {
        private final Supplier<C> maker;

        Factory(Class<C> type, String key, Supplier<C> maker) {
            super(SubjectFactories.APP_SUBJECT_FACTORY, type, key);
            this.maker = maker;
        }

        @Override
        public C createConfig() {
            return maker.get();
        }
    }

    NetworkConfigs(NetworkConfigRegistry registry, ApplicationId app) {
        this.registry = registry;
        this.app = app;
    }

    /** What ONOS needs to know of the keys. */
    List<ConfigFactory<ApplicationId, ? extends SlotwiseConfig>> factories() {
        return factories;
    }

    boolean concerns(NetworkConfigEvent event) {
        return SlotwiseConfig.class.isAssignableFrom(event.configClass()) && Objects.equals(event.subject(), app);
    }

    /** What is configured, as one document; empty if nothing is. {@code network} says it all where it is there. */
    Optional<JsonNode> document() {
        SlotwiseConfig whole = registry.getConfig(app, SlotwiseConfig.class);
        if (whole != null) {
            return Optional.of(whole.node().deepCopy());
        }
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        ObjectNode apps = document.putObject("apps");
        add(apps, StarApp.ID, registry.getConfig(app, SlotwiseConfig.Star.class));
        add(apps, RoutesApp.ID, registry.getConfig(app, SlotwiseConfig.Routes.class));
        add(apps, FairnessApp.ID, registry.getConfig(app, SlotwiseConfig.Ring.class));
        return apps.isEmpty() ? Optional.empty() : Optional.of(document);
    }

    private static void add(ObjectNode apps, String name, SlotwiseConfig config) {
        if (config != null) {
            apps.set(name, config.node().deepCopy());
        }
    }
}
