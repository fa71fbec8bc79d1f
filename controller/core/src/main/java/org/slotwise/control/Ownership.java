// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** Tables of switches that one application writes and no other. Immutable. */
public final class Ownership {
    /** By switch; an empty set is all tables. */
    private final Map<DeviceId, Set<String>> tables;

    private Ownership(Map<DeviceId, Set<String>> tables) {
        this.tables = tables;
    }

    /** All tables of these switches. */
    public static Ownership allOf(Collection<DeviceId> devices) {
        Map<DeviceId, Set<String>> tables = new LinkedHashMap<>();
        devices.forEach(device -> tables.put(device, Set.of()));
        return new Ownership(tables);
    }

    /** The tables with these short names, at least one, of these switches. */
    public static Ownership tablesOf(Collection<DeviceId> devices, Collection<String> names) {
        if (names.isEmpty()) {
            throw new IllegalArgumentException("no tables; expected at least one table per switch");
        }
        Set<String> copy = Set.copyOf(names);
        Map<DeviceId, Set<String>> tables = new LinkedHashMap<>();
        devices.forEach(device -> tables.put(device, copy));
        return new Ownership(tables);
    }

    /** With what is said of other switches. */
    public Ownership and(Ownership others) {
        Map<DeviceId, Set<String>> both = new LinkedHashMap<>(tables);
        others.tables.forEach((device, names) -> {
            if (both.putIfAbsent(device, names) != null) {
                throw new IllegalArgumentException("device " + device + ": tables specified twice");
            }
        });
        return new Ownership(both);
    }

    /** The switches, in the order given. */
    public Set<DeviceId> devices() {
        return tables.keySet();
    }

    /** Short names of the tables of a switch; an empty set means all tables. */
    public Set<String> tables(DeviceId device) {
        return tables.getOrDefault(device, Set.of());
    }

    /** Whether an entry of a switch belongs to the application. */
    public boolean has(DeviceId device, TableEntry entry) {
        Set<String> names = tables.get(device);
        return names != null && (names.isEmpty() || names.contains(entry.table()));
    }

    /** Those of a switch's entries that belong to the application. */
    List<TableEntry> of(DeviceId device, List<TableEntry> entries) {
        Set<String> names = tables.get(device);
        return names != null && names.isEmpty() ? entries
                : entries.stream().filter(entry -> has(device, entry)).collect(Collectors.toUnmodifiableList());
    }

    /** The first change of an entry that does not belong to the application. */
    Optional<Update> foreign(Command.Write write) {
        Set<String> names = tables.get(write.device());
        return names != null && names.isEmpty() ? Optional.empty()
                : write.updates().stream().filter(update -> !has(write.device(), update.entry())).findFirst();
    }

    /** What both claim, as words for whoever mixed them; empty if nothing. */
    Optional<String> overlap(Ownership other) {
        for (Map.Entry<DeviceId, Set<String>> own : tables.entrySet()) {
            Set<String> theirs = other.tables.get(own.getKey());
            if (theirs == null) {
                continue;
            }
            Set<String> common = new TreeSet<>(own.getValue().isEmpty() ? theirs : own.getValue());
            if (!own.getValue().isEmpty() && !theirs.isEmpty()) {
                common.retainAll(theirs);
            }
            if (!common.isEmpty() || own.getValue().isEmpty()) {
                return Optional.of((common.isEmpty() ? "all tables" : "tables " + String.join(", ", common))
                        + " of device " + own.getKey());
            }
        }
        return Optional.empty();
    }
}
