// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.app;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.slotwise.control.KeptSwitch;
import org.slotwise.control.Ownership;
import org.slotwise.control.TableApp;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Topology;
import org.slotwise.systems.tables.model.FixedEntries;

/**
 * Writes fixed entries to tables that no other application writes: those of a custom P4 program. Its switches belong to other
 * applications. Entries that the program itself has in these tables stay.
 */
public final class TablesApp extends TableApp<TablesApp.State, TablesView> {
    /** Name of the application. */
    public static final String ID = "tables";

    /** Switch with its intended entries. */
    static final class State extends KeptSwitch {
        private final List<TableEntry> entries;

        State(DeviceId id, List<TableEntry> entries) {
            super(id);
            this.entries = entries;
        }
    }

    /** Creates an application that writes these entries. */
    public TablesApp(FixedEntries entries) {
        super(ID, new Topology.Builder().build(), owned(entries));
        entries.devices().forEach(device -> add(new State(device, entries.of(device))));
    }

    private static Ownership owned(FixedEntries entries) {
        Ownership owned = Ownership.allOf(List.of());
        for (DeviceId device : entries.devices()) {
            owned = owned.and(Ownership.tablesOf(List.of(device), entries.tables(device)));
        }
        return owned;
    }

    @Override
    protected List<Update> changes(State state) {
        return state.changesTo(state.entries).stream().filter(update -> update.type() != Update.Type.DELETE).collect(Collectors.toList());
    }

    @Override
    public TablesView view() {
        List<TablesView.Entries> shown = new ArrayList<>();
        states().forEach(state -> shown.add(new TablesView.Entries(state.id(), state.isReady(), state.isCurrent(), state.entries)));
        return new TablesView(isConfigured(), shown, writeFailures());
    }
}
