// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.onosproject.net.driver.AbstractHandlerBehaviour;
import org.onosproject.net.driver.Behaviour;
import org.onosproject.net.driver.DefaultDriver;
import org.onosproject.net.driver.Driver;
import org.onosproject.net.driver.DriverAdminServiceAdapter;
import org.onosproject.net.driver.DriverEvent;
import org.onosproject.net.driver.DriverListener;
import org.onosproject.net.driver.DriverProvider;
import org.onosproject.net.flow.FlowEntry;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.FlowRuleProgrammable;

/** The driver's registration, whenever the driver that it extends comes. */
class SlotwiseDriverLoaderTest {
    private static final Driver PARENT = new DefaultDriver("p4runtime", List.of(), "", "", "", Map.of(), Map.of());

    private final Registry registry = new Registry();
    private final SlotwiseDriverLoader loader = new SlotwiseDriverLoader();

    SlotwiseDriverLoaderTest() {
        loader.drivers = registry;
    }

    /** ONOS's drivers by name, and who hears of them. */
    private static final class Registry extends DriverAdminServiceAdapter {
        private final Map<String, Driver> byName = new LinkedHashMap<>();
        private final Set<DriverListener> listeners = new LinkedHashSet<>();
        private final Set<DriverProvider> providers = new LinkedHashSet<>();
        private int registered;

        void add(Driver driver) {
            byName.put(driver.name(), driver);
            List.copyOf(listeners).forEach(each -> each.event(new DriverEvent(DriverEvent.Type.DRIVER_ENHANCED, driver)));
        }

        @Override
        public Set<Driver> getDrivers() {
            return Set.copyOf(byName.values());
        }

        @Override
        public Driver getDriver(String name) {
            return byName.get(name);
        }

        @Override
        public void registerProvider(DriverProvider provider) {
            registered++;
            providers.add(provider);
            provider.getDrivers().forEach(this::add);
        }

        @Override
        public Set<DriverProvider> getProviders() {
            return providers;
        }

        @Override
        public void unregisterProvider(DriverProvider provider) {
            providers.remove(provider);
            provider.getDrivers().forEach(driver -> byName.remove(driver.name()));
        }

        @Override
        public void addListener(DriverListener listener) {
            listeners.add(listener);
        }

        @Override
        public void removeListener(DriverListener listener) {
            listeners.remove(listener);
        }
    }

    private Set<String> names() {
        return new TreeSet<>(registry.byName.keySet());
    }

    @Test
    void aDriverThatComesLaterIsExtendedThenAndOnce() {
        loader.activate();
        assertEquals(Set.of(), names());
        registry.add(PARENT);
        registry.add(new DefaultDriver("other", List.of(), "", "", "", Map.of(), Map.of()));
        assertEquals(Set.of("p4runtime", "other", "slotwise"), names());
        assertEquals(List.of(PARENT), registry.byName.get("slotwise").parents());
        assertEquals(1, registry.registered);
    }

    @Test
    void whatWasRegisteredIsWithdrawnWithTheAppAndNothingComesAfterwards() {
        registry.add(PARENT);
        loader.activate();
        assertEquals(Set.of("p4runtime", "slotwise"), names());
        loader.deactivate();
        registry.add(PARENT);
        assertEquals(Set.of("p4runtime"), names());
    }

    /** What ONOS made of the driver and a pipeconf before the app was exchanged. */
    @Test
    void driversThatOnosHasMadeOfAnAppBeforeGetTheClassesOfThisOne() {
        registry.add(PARENT);
        Driver before = new DefaultDriver("slotwise:org.slotwise.edge", List.of(PARENT), "", "", "",
                Map.of(FlowRuleProgrammable.class, OfAnAppBefore.class, Pinging.class, OfAnAppBefore.class), Map.of());
        registry.registerProvider(() -> Set.of(before));
        loader.activate();
        assertEquals(Set.of("p4runtime", "slotwise", "slotwise:org.slotwise.edge"), names());
        Driver after = registry.byName.get("slotwise:org.slotwise.edge");
        assertEquals(StoredFlowRules.class, after.implementation(FlowRuleProgrammable.class));
        assertEquals(OfAnAppBefore.class, after.implementation(Pinging.class));
        assertEquals("true", after.getProperty("tableReadFromMirror"));
        assertEquals(2, registry.providers.size());
    }

    /** A behaviour that only a pipeconf has. */
    public interface Pinging extends Behaviour {
    }

    /** Of a bundle that is gone. */
    public static final class OfAnAppBefore extends AbstractHandlerBehaviour implements FlowRuleProgrammable, Pinging {
        @Override
        public Collection<FlowEntry> getFlowEntries() {
            throw new AssertionError("its bundle is gone");
        }

        @Override
        public Collection<FlowRule> applyFlowRules(Collection<FlowRule> rules) {
            throw new AssertionError("its bundle is gone");
        }

        @Override
        public Collection<FlowRule> removeFlowRules(Collection<FlowRule> rules) {
            throw new AssertionError("its bundle is gone");
        }
    }

    @Test
    void anAppThatEndsBeforeTheDriverHasComeEnds() {
        loader.activate();
        loader.deactivate();
        registry.add(PARENT);
        assertEquals(Set.of("p4runtime"), names());
    }
}
