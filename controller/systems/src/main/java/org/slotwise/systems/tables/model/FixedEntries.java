// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.model;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;

/** Entries of switches that do not change. Immutable. */
public final class FixedEntries {
    private final Map<DeviceId, List<TableEntry>> entries;

    private FixedEntries(Map<DeviceId, List<TableEntry>> entries) {
        this.entries = entries;
    }

    /** Collects entries. */
    public static final class Builder {
        /** Entries by key. */
        private final Map<DeviceId, Map<String, TableEntry>> entries = new LinkedHashMap<>();

        /** Adds an entry of a switch; throws IllegalArgumentException if the switch has one with the same key. */
        public Builder add(DeviceId device, TableEntry entry) {
            if (entries.computeIfAbsent(device, any -> new LinkedHashMap<>()).putIfAbsent(entry.key(), entry) != null) {
                throw new IllegalArgumentException("duplicate entry " + entry.key() + "; expected each key once per switch");
            }
            return this;
        }

        /** The entries. */
        public FixedEntries build() {
            Map<DeviceId, List<TableEntry>> copy = new LinkedHashMap<>();
            entries.forEach((device, own) -> copy.put(device, List.copyOf(own.values())));
            return new FixedEntries(Collections.unmodifiableMap(copy));
        }
    }

    /** Switches with entries, in the order of their first one. */
    public Collection<DeviceId> devices() {
        return entries.keySet();
    }

    /** Entries of a switch, in order; none of an unknown one. */
    public List<TableEntry> of(DeviceId device) {
        return entries.getOrDefault(device, List.of());
    }

    /** Names of the tables of a switch that have entries. */
    public Set<String> tables(DeviceId device) {
        return of(device).stream().map(TableEntry::table).collect(Collectors.toSet());
    }
}
