// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.onosproject.net.driver.Behaviour;
import org.onosproject.net.driver.DefaultDriver;
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
    /** Between the names of driver and pipeconf. */
    private static final String MERGED = ":";
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
        provider.getDrivers().forEach(this::renewMerged);
    }

    /**
     * ONOS makes a driver for each pipeconf of this one and keeps it when the app is deactivated or exchanged, so that the classes of
     * the app before would go on driving the switches, without the services of the one that is active.
     */
    private void renewMerged(Driver base) {
        for (DriverProvider merged : Set.copyOf(drivers.getProviders())) {
            Set<Driver> renewed = merged.getDrivers().stream().filter(driver -> driver.name().startsWith(base.name() + MERGED))
                    .map(driver -> renewed(driver, base)).collect(Collectors.toSet());
            if (!renewed.isEmpty()) {
                drivers.unregisterProvider(merged);
                drivers.registerProvider(() -> renewed);
            }
        }
    }

    private static Driver renewed(Driver merged, Driver base) {
        Map<Class<? extends Behaviour>, Class<? extends Behaviour>> behaviours = new HashMap<>();
        for (Driver driver : List.of(merged, base)) {
            driver.behaviours().forEach(behaviour -> behaviours.put(behaviour, driver.implementation(behaviour)));
        }
        return new DefaultDriver(merged.name(), base.parents(), base.manufacturer(), base.hwVersion(), base.swVersion(), behaviours,
                base.properties());
    }
}
