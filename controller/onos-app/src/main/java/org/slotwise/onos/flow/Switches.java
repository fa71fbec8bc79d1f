// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;

/**
 * The switches as the controller's runner needs them. Futures complete on any thread, with
 * {@link SwitchUnavailableException} if it did not work.
 */
public interface Switches {
    /** Whether the switch is connected and runs its program. */
    boolean isAvailable(DeviceId device);

    /** All entries of the switch's tables. */
    CompletableFuture<List<TableEntry>> read(DeviceId device);

    /** Changes entries; completes when the switch has acknowledged all. */
    CompletableFuture<Void> write(DeviceId device, List<Update> updates);

    /** Sends a packet. */
    void send(DeviceId device, int port, byte[] frame);
}
