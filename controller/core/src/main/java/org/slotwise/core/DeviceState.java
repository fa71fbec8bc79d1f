// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.List;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.TableMirror;
import org.slotwise.core.tables.Update;

/** One switch as the controller knows it: whether it is there, its tables, and the write it has not answered. */
final class DeviceState {
    /** Of a core. */
    static final int NO_EDGE = -1;
    private static final long NO_BATCH = -1;

    private final DeviceId id;
    private final int edge;
    private final TableMirror tables = new TableMirror();
    private boolean ready;
    private long pendingBatch = NO_BATCH;
    private List<Update> pendingUpdates = List.of();

    DeviceState(DeviceId id, int edge) {
        this.id = id;
        this.edge = edge;
    }

    /** Place of the edge in its network, or {@link #NO_EDGE}. */
    int edge() {
        return edge;
    }

    DeviceId id() {
        return id;
    }

    TableMirror tables() {
        return tables;
    }

    boolean isReady() {
        return ready;
    }

    /** Whether it is there and has answered every write. */
    boolean isSettled() {
        return ready && pendingBatch == NO_BATCH;
    }

    void becomeReady(List<TableEntry> entries) {
        tables.reset(entries);
        pendingBatch = NO_BATCH;
        ready = true;
    }

    void becomeLost() {
        pendingBatch = NO_BATCH;
        ready = false;
    }

    Command.Write startWrite(long batch, List<Update> updates) {
        pendingBatch = batch;
        pendingUpdates = updates;
        return new Command.Write(id, batch, updates);
    }

    /** Takes an acknowledgement, or returns false if it is for a write from before the switch was lost. */
    boolean finishWrite(long batch) {
        if (batch != pendingBatch) {
            return false;
        }
        pendingBatch = NO_BATCH;
        tables.apply(pendingUpdates);
        return true;
    }

    boolean isPending(long batch) {
        return batch == pendingBatch;
    }
}
