// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** A switch whose tables an application keeps as they ought to be: it writes when that has changed, and reads again what was refused. */
public class KeptSwitch extends SwitchState {
    private final Set<Integer> dark = new TreeSet<>();
    /** Default entries that it has acknowledged since it was read; others are read. */
    private final Map<String, TableEntry> defaults = new HashMap<>();
    private boolean changed;
    private boolean configured;

    /** Takes the switch, which is not there yet; all its ports have light. */
    public KeptSwitch(DeviceId id) {
        super(id);
    }

    /** Its ports without light, for {@link LightChanges#note}. */
    public final Set<Integer> dark() {
        return dark;
    }

    /** What ought to be in its tables has changed. */
    public final void change() {
        changed = true;
    }

    /** Whether to write now; it is taken to have been done then. */
    public final boolean takeChange() {
        boolean isDue = changed && isSettled();
        changed &= !isDue;
        return isDue;
    }

    /** What makes its tables hold these entries and nothing else; a default entry is in it only if it is not known to be there. */
    public final List<Update> changesTo(List<TableEntry> wanted) {
        return tables().changesTo(wanted, entry -> true).stream()
                .filter(update -> !update.entry().equals(defaults.get(update.entry().table())))
                .collect(Collectors.toList());
    }

    /** Whether it has acknowledged all that ought to be in its tables. */
    public final boolean isCurrent() {
        return isSettled() && !changed;
    }

    /** Its tables have all that they ought to have, without a write: it was read, or ought to have nothing. */
    final void confirm() {
        configured = true;
    }

    /** Returns true if its tables have had all intended entries at least once. */
    public final boolean isConfigured() {
        return configured;
    }

    /** Takes what concerns its tables; true if it has refused a write, so that it is to be read. */
    public final boolean hear(Event.AtDevice event) {
        if (event instanceof Event.DeviceReady) {
            becomeReady(((Event.DeviceReady) event).entries());
            defaults.clear();
            changed = true;
        } else if (event instanceof Event.DeviceLost) {
            becomeLost();
        } else if (event instanceof Event.WriteDone) {
            finish(((Event.WriteDone) event).batch());
        } else if (event instanceof Event.WriteFailed && isPending(((Event.WriteFailed) event).batch())) {
            becomeLost();
            return true;
        }
        return false;
    }

    private void finish(long batch) {
        if (finishWrite(batch)) {
            configured = true;
            pendingUpdates().stream().map(Update::entry).filter(TableEntry::isDefault)
                    .forEach(entry -> defaults.put(entry.table(), entry));
        }
    }
}
