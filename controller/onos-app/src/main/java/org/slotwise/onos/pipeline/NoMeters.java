// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.pipeline;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.onosproject.net.driver.AbstractHandlerBehaviour;
import org.onosproject.net.meter.Meter;
import org.onosproject.net.meter.MeterFeatures;
import org.onosproject.net.meter.MeterOperation;
import org.onosproject.net.meter.MeterProgrammable;

/**
 * No meters for ONOS to number: it would read all cells every 30 seconds and set back those that it has not written itself, which are
 * all that {@link org.slotwise.onos.flow.MeterWriter} writes.
 */
public final class NoMeters extends AbstractHandlerBehaviour implements MeterProgrammable {
    @Override
    public CompletableFuture<Boolean> performMeterOperation(MeterOperation operation) {
        return CompletableFuture.completedFuture(false);
    }

    @Override
    public CompletableFuture<Collection<Meter>> getMeters() {
        return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public CompletableFuture<Collection<MeterFeatures>> getMeterFeatures() {
        return CompletableFuture.completedFuture(List.of());
    }
}
