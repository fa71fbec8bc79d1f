// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.InputStream;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.onosproject.net.DeviceId;
import org.onosproject.net.driver.AbstractHandlerBehaviour;
import org.onosproject.net.driver.DefaultDriver;
import org.onosproject.net.driver.DefaultDriverData;
import org.onosproject.net.driver.DefaultDriverHandler;
import org.onosproject.net.driver.Driver;
import org.onosproject.net.driver.XmlDriverLoader;
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

    @Test
    void onosFindsNoMetersAndLeavesTheirCellsAlone() throws IOException {
        Driver parent = new DefaultDriver("p4runtime", List.of(), "", "", "", Map.of(MeterProgrammable.class, Touching.class), Map.of());
        Driver driver;
        try (InputStream definition = SlotwiseDriverLoader.class.getResourceAsStream("/slotwise-drivers.xml")) {
            driver = new XmlDriverLoader(SlotwiseDriverLoader.class.getClassLoader(), null)
                    .loadDrivers(definition, name -> name.equals("p4runtime") ? parent : null).getDrivers().iterator().next();
        }
        assertEquals("slotwise", driver.name());
        MeterProgrammable meters = driver.createBehaviour(
                new DefaultDriverHandler(new DefaultDriverData(driver, DeviceId.deviceId("device:slotwise:3001"))), MeterProgrammable.class);
        assertEquals(List.of(), List.copyOf(meters.getMeters().join()));
        assertEquals(List.of(), List.copyOf(meters.getMeterFeatures().join()));
        assertFalse(meters.performMeterOperation(new MeterOperation(null, MeterOperation.Type.ADD)).join());
    }
}
