// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.onosproject.net.pi.model.PiPipeconf;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** Sets cells of a switch's meters. */
public interface MeterWriter {
    /**
     * Changes cells, which are {@link org.slotwise.control.tables.MeterCell}s, at least one; does not wait. Fails with
     * {@link SwitchUnavailableException}, or IllegalArgumentException if the program has no such meter.
     */
    CompletableFuture<Void> write(DeviceId device, PiPipeconf program, List<Update> cells);
}
