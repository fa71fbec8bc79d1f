// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.ConfigFactory;
import org.onosproject.net.config.NetworkConfigEvent;
import org.onosproject.net.config.NetworkConfigRegistry;
import org.onosproject.net.config.basics.SubjectFactories;
import org.slotwise.rest.system.SystemKinds;

/** The keys of ONOS's network configuration that are this app's, put together: {@code network}, or those of the applications. */
final class NetworkConfigs {
    private final NetworkConfigRegistry registry;
    private final ApplicationId app;
    private final SystemKinds applications;
    private final List<ConfigFactory<ApplicationId, ? extends SlotwiseConfig>> factories = new ArrayList<>();
    /** By the name of each application. */
    private final Map<String, Class<? extends SlotwiseConfig>> keys = new LinkedHashMap<>();

    private final class Factory<C extends SlotwiseConfig> extends ConfigFactory<ApplicationId, C> {
        private final Supplier<C> maker;

        @SuppressWarnings("unchecked")
        Factory(String key, Supplier<C> maker) {
            super(SubjectFactories.APP_SUBJECT_FACTORY, (Class<C>) maker.get().getClass(), key);
            this.maker = maker;
        }

        @Override
        public C createConfig() {
            C config = maker.get();
            config.of(applications);
            return config;
        }
    }

    NetworkConfigs(NetworkConfigRegistry registry, ApplicationId app, SystemKinds applications) {
        this.registry = registry;
        this.app = app;
        this.applications = applications;
        factories.add(new Factory<>(SlotwiseConfig.KEY, SlotwiseConfig::new));
        Iterator<Supplier<? extends SlotwiseConfig>> makers = SlotwiseConfig.OF_APPLICATIONS.iterator();
        for (String name : applications.all().keySet()) {
            Factory<?> factory = new Factory<>(name, makers.next());
            factories.add(factory);
            keys.put(name, factory.configClass());
        }
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
        keys.forEach((name, type) -> {
            SlotwiseConfig config = registry.getConfig(app, type);
            if (config != null) {
                apps.set(name, config.node().deepCopy());
            }
        });
        return apps.isEmpty() ? Optional.empty() : Optional.of(document);
    }
}
