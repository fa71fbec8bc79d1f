// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.InputStream;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.onosproject.core.DefaultApplicationId;
import org.onosproject.net.DeviceId;
import org.onosproject.net.driver.AbstractHandlerBehaviour;
import org.onosproject.net.driver.DefaultDriver;
import org.onosproject.net.driver.DefaultDriverData;
import org.onosproject.net.driver.DefaultDriverHandler;
import org.onosproject.net.driver.Driver;
import org.onosproject.net.driver.XmlDriverLoader;
import org.onosproject.net.flow.DefaultFlowEntry;
import org.onosproject.net.flow.DefaultFlowRule;
import org.onosproject.net.flow.DefaultTrafficSelector;
import org.onosproject.net.flow.DefaultTrafficTreatment;
import org.onosproject.net.flow.FlowEntry;
import org.onosproject.net.flow.FlowRule;
import org.onosproject.net.flow.FlowRuleProgrammable;
import org.onosproject.net.flow.FlowRuleServiceAdapter;
import org.onosproject.net.meter.Meter;
import org.onosproject.net.meter.MeterFeatures;
import org.onosproject.net.meter.MeterOperation;
import org.onosproject.net.meter.MeterProgrammable;

/** The driver as ONOS makes it of its XML, over a parent that would touch the switch's meters. */
class SlotwiseDriverTest {
    /** As ONOS's for P4Runtime, which sets back each cell that it has not written itself. */
    public static final class Touching extends AbstractHandlerBehaviour implements MeterProgrammable {
        @Override
        public CompletableFuture<Boolean> performMeterOperation(MeterOperation operation) {
            throw new AssertionError("a cell was written");
        }

        @Override
        public CompletableFuture<Collection<Meter>> getMeters() {
            throw new AssertionError("cells were read, and set back");
        }

        @Override
        public CompletableFuture<Collection<MeterFeatures>> getMeterFeatures() {
            throw new AssertionError("meters were shown");
        }
    }

    private static Driver driver() throws IOException {
        Driver parent = new DefaultDriver("p4runtime", List.of(), "", "", "", Map.of(MeterProgrammable.class, Touching.class), Map.of());
        try (InputStream definition = SlotwiseDriverLoader.class.getResourceAsStream("/slotwise-drivers.xml")) {
            return new XmlDriverLoader(SlotwiseDriverLoader.class.getClassLoader(), null)
                    .loadDrivers(definition, name -> name.equals("p4runtime") ? parent : null).getDrivers().iterator().next();
        }
    }

    /** ONOS writes what it misses and deletes what it does not expect. */
    @Test
    void onosFindsTheRulesThatItThinksAreThere() throws IOException {
        DeviceId device = DeviceId.deviceId("device:slotwise:1");
        FlowRule rule = DefaultFlowRule.builder().forDevice(device).fromApp(new DefaultApplicationId(42, "app")).withPriority(1).makePermanent()
                .withSelector(DefaultTrafficSelector.emptySelector()).withTreatment(DefaultTrafficTreatment.emptyTreatment()).build();
        Map<FlowEntry.FlowEntryState, Integer> found = new EnumMap<>(FlowEntry.FlowEntryState.class);
        for (FlowEntry.FlowEntryState state : FlowEntry.FlowEntryState.values()) {
            FlowRuleServiceAdapter stored = new FlowRuleServiceAdapter() {
                @Override
                public Iterable<FlowEntry> getFlowEntries(DeviceId of) {
                    return List.of(new DefaultFlowEntry(rule, state));
                }
            };
            DefaultDriverHandler handler = new DefaultDriverHandler(new DefaultDriverData(driver(), device)) {
                @Override
                public <T> T get(Class<T> service) {
                    return service.cast(stored);
                }
            };
            found.put(state, driver().createBehaviour(handler, FlowRuleProgrammable.class).getFlowEntries().size());
        }
        assertEquals(Map.of(FlowEntry.FlowEntryState.ADDED, 1, FlowEntry.FlowEntryState.PENDING_ADD, 1,
                FlowEntry.FlowEntryState.PENDING_REMOVE, 0, FlowEntry.FlowEntryState.REMOVED, 0, FlowEntry.FlowEntryState.FAILED, 0), found);
    }

    @Test
    void onosFindsNoMetersAndLeavesTheirCellsAlone() throws IOException {
        Driver driver = driver();
        assertEquals("slotwise", driver.name());
        MeterProgrammable meters = driver.createBehaviour(
                new DefaultDriverHandler(new DefaultDriverData(driver, DeviceId.deviceId("device:slotwise:3001"))), MeterProgrammable.class);
        assertEquals(List.of(), List.copyOf(meters.getMeters().join()));
        assertEquals(List.of(), List.copyOf(meters.getMeterFeatures().join()));
        assertFalse(meters.performMeterOperation(new MeterOperation(null, MeterOperation.Type.ADD)).join());
    }
}
