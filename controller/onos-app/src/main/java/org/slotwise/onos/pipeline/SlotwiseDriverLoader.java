// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import org.onosproject.net.driver.Driver;
import org.onosproject.net.driver.DriverAdminService;
import org.onosproject.net.driver.DriverListener;
import org.onosproject.net.driver.DriverProvider;
import org.onosproject.net.driver.XmlDriverLoader;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the drivers {@code slotwise} and {@code slotwise-tofino} while the app is active, each once the driver that it extends is
 * there. ONOS's own loaders give up if that is missing, and when ONOS starts again bundles begin in any order. The second one needs
 * ONOS's drivers for Stratum and Barefoot's switches, which a network without a Tofino does without.
 */
@Component(immediate = true)
public final class SlotwiseDriverLoader {
    /** The driver that is extended, and by which definitions. */
    private static final Map<String, String> DEFINITIONS = Map.of(
            "p4runtime", "/slotwise-drivers.xml", "stratum-tofino", "/slotwise-tofino-drivers.xml");
    private static final Logger LOG = LoggerFactory.getLogger(SlotwiseDriverLoader.class);

    @Reference
    DriverAdminService drivers;

    private final DriverListener listener = event -> load();
    /** Of the drivers that are registered, by the one that they extend. */
    private final Map<String, DriverProvider> providers = new HashMap<>();

    @Activate
    void activate() {
        drivers.addListener(listener);
        load();
    }

    @Deactivate
    void deactivate() {
        drivers.removeListener(listener);
        synchronized (this) {
            providers.values().forEach(drivers::unregisterProvider);
            providers.clear();
        }
    }

    private synchronized void load() {
        DEFINITIONS.keySet().stream().filter(parent -> !providers.containsKey(parent)).filter(this::isThere).forEach(this::register);
    }

    private boolean isThere(String name) {
        return drivers.getDrivers().stream().map(Driver::name).anyMatch(name::equals);
    }

    private void register(String parent) {
        DriverProvider provider;
        try (InputStream definition = SlotwiseDriverLoader.class.getResourceAsStream(DEFINITIONS.get(parent))) {
            provider = new XmlDriverLoader(SlotwiseDriverLoader.class.getClassLoader(), drivers).loadDrivers(definition, drivers);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // Before ONOS is told: it tells this listener of the drivers that it gets.
        providers.put(parent, provider);
        drivers.registerProvider(provider);
        LOG.info("registered extensions of driver {}", parent);
    }
}
