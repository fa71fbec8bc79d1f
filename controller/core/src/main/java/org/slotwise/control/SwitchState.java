// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.List;
import java.util.Objects;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.TableMirror;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** One switch as an application knows it: whether it is there, its tables, and the write it has not answered. */
public class SwitchState {
    private static final long NO_BATCH = -1;

    private final DeviceId id;
    private final TableMirror tables = new TableMirror();
    private boolean ready;
    private long pendingBatch = NO_BATCH;
    private List<Update> pendingUpdates = List.of();

    /** Takes the switch, which is not there yet. */
    public SwitchState(DeviceId id) {
        this.id = Objects.requireNonNull(id);
    }

    /** The switch. */
    public final DeviceId id() {
        return id;
    }

    /** What it has acknowledged. */
    public final TableMirror tables() {
        return tables;
    }

    /** Whether it is there. */
    public final boolean isReady() {
        return ready;
    }

    /** Whether it is there and has answered every write. */
    public final boolean isSettled() {
        return ready && pendingBatch == NO_BATCH;
    }

    /** It is there with these entries; what was being written to it is over. */
    public final void becomeReady(List<TableEntry> entries) {
        tables.reset(entries);
        pendingBatch = NO_BATCH;
        ready = true;
    }

    /** It is not there any more. */
    public final void becomeLost() {
        pendingBatch = NO_BATCH;
        ready = false;
    }

    /** Makes a batch of changes; the next one only when this has been answered. */
    public final Command.Write startWrite(long batch, List<Update> updates) {
        pendingBatch = batch;
        pendingUpdates = updates;
        return new Command.Write(id, batch, updates);
    }

    /** The changes of the last batch. */
    protected final List<Update> pendingUpdates() {
        return pendingUpdates;
    }

    /** Takes an acknowledgement, or returns false if it is for a write from before the switch was lost. */
    public final boolean finishWrite(long batch) {
        if (batch != pendingBatch) {
            return false;
        }
        pendingBatch = NO_BATCH;
        tables.apply(pendingUpdates);
        return true;
    }

    /** Whether this is the batch that it has not answered. */
    public final boolean isPending(long batch) {
        return batch == pendingBatch;
    }
}
