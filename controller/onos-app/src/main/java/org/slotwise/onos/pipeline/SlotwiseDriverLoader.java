// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
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
 * Registers the {@code slotwise} driver while the app is active and the driver that it extends is there. ONOS's own loaders give up if
 * that is missing, and when ONOS starts again bundles begin in any order.
 */
@Component(immediate = true)
public final class SlotwiseDriverLoader {
    private static final String DEFINITION = "/slotwise-drivers.xml";
    private static final String PARENT = "p4runtime";
    private static final Logger LOG = LoggerFactory.getLogger(SlotwiseDriverLoader.class);

    @Reference
    DriverAdminService drivers;

    private final DriverListener listener = event -> load();
    /** Of the driver, as long as it is registered. */
    private DriverProvider provider;

    @Activate
    void activate() {
        drivers.addListener(listener);
        load();
    }

    @Deactivate
    void deactivate() {
        drivers.removeListener(listener);
        synchronized (this) {
            if (provider != null) {
                drivers.unregisterProvider(provider);
                provider = null;
            }
        }
    }

    private synchronized void load() {
        if (provider != null) {
            return;
        }
        if (drivers.getDrivers().stream().map(Driver::name).noneMatch(PARENT::equals)) {
            LOG.info("waiting for driver {}", PARENT);
            return;
        }
        try (InputStream definition = SlotwiseDriverLoader.class.getResourceAsStream(DEFINITION)) {
            provider = new XmlDriverLoader(SlotwiseDriverLoader.class.getClassLoader(), drivers).loadDrivers(definition, drivers);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        drivers.registerProvider(provider);
    }
}
