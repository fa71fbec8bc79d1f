// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.tables;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/** What one switch's tables hold, as far as it was read or acknowledged. Default entries are not kept. */
public final class TableMirror {
    private final SortedMap<String, TableEntry> entries = new TreeMap<>();

    /** Forgets everything and takes what was read. */
    public void reset(Collection<TableEntry> read) {
        entries.clear();
        for (TableEntry entry : read) {
            if (!entry.isDefault()) {
                entries.put(entry.key(), entry);
            }
        }
    }

    /** Takes changes that the switch acknowledged. */
    public void apply(List<Update> updates) {
        for (Update update : updates) {
            TableEntry entry = update.entry();
            if (entry.isDefault()) {
                continue;
            }
            if (update.type() == Update.Type.DELETE) {
                entries.remove(entry.key());
            } else {
                entries.put(entry.key(), entry);
            }
        }
    }

    /**
     * Returns the changes that turn the entries in {@code scope} into {@code desired}: deletions first, so that a
     * full table has room, then {@code desired} in its order. A default entry is always written, since it is not
     * mirrored and writing it again changes nothing.
     */
    public List<Update> changesTo(List<TableEntry> desired, Predicate<TableEntry> scope) {
        Set<String> wanted = new HashSet<>();
        desired.forEach(entry -> wanted.add(entry.key()));
        List<Update> updates = new ArrayList<>();
        for (TableEntry present : entries.values()) {
            if (!wanted.contains(present.key()) && scope.test(present)) {
                updates.add(new Update(Update.Type.DELETE, present));
            }
        }
        for (TableEntry entry : desired) {
            TableEntry present = entries.get(entry.key());
            if (present == null && !entry.isDefault()) {
                updates.add(new Update(Update.Type.INSERT, entry));
            } else if (!entry.equals(present)) {
                updates.add(new Update(Update.Type.MODIFY, entry));
            }
        }
        return updates;
    }

    /** The entries that pass {@code filter}, ordered by key. */
    public List<TableEntry> entries(Predicate<TableEntry> filter) {
        List<TableEntry> found = new ArrayList<>();
        for (TableEntry entry : entries.values()) {
            if (filter.test(entry)) {
                found.add(entry);
            }
        }
        return found;
    }
}
