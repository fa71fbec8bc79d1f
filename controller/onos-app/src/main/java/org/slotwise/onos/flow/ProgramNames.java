// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.onosproject.net.pi.model.PiActionId;
import org.onosproject.net.pi.model.PiActionModel;
import org.onosproject.net.pi.model.PiPipelineModel;
import org.onosproject.net.pi.model.PiTableId;
import org.onosproject.net.pi.model.PiTableModel;

/**
 * A program's tables and actions by the short names that the controller uses. ONOS knows the whole names only
 * ({@code EdgeIngress.slot_schedule}); the short one is what follows the last dot, as p4c's aliases are as long as no
 * two are the same.
 */
public final class ProgramNames {
    private final Map<String, PiTableModel> tables = new HashMap<>();
    private final Map<String, Map<String, PiActionId>> actions = new HashMap<>();

    /** Takes a program; throws IllegalArgumentException if two of its tables, or a table's actions, share a short name. */
    public ProgramNames(PiPipelineModel program) {
        for (PiTableModel table : program.tables()) {
            String name = shortName(table.id().id());
            putNew(tables, name, table);
            Map<String, PiActionId> ofTable = new HashMap<>();
            for (PiActionModel action : table.actions()) {
                putNew(ofTable, shortName(action.id().id()), action.id());
            }
            actions.put(name, ofTable);
        }
    }

    private static <T> void putNew(Map<String, T> names, String name, T value) {
        if (names.put(name, value) != null) {
            throw new IllegalArgumentException("duplicate name '" + name + "' in the P4 program");
        }
    }

    /** What follows the last dot. */
    static String shortName(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    /** The table, or IllegalArgumentException with its name. */
    PiTableId table(String name) {
        return Optional.ofNullable(tables.get(name)).map(PiTableModel::id)
                .orElseThrow(() -> new IllegalArgumentException("the P4 program has no table '" + name + "'"));
    }

    /** The action of a table, or IllegalArgumentException with its name. */
    PiActionId action(String table, String name) {
        return Optional.ofNullable(actions.get(table)).map(ofTable -> ofTable.get(name))
                .orElseThrow(() -> new IllegalArgumentException(
                        "table '" + table + "' of the P4 program has no action '" + name + "'"));
    }

    /** Whether the program has the table. */
    boolean knows(PiTableId table) {
        PiTableModel model = tables.get(shortName(table.id()));
        return model != null && model.id().equals(table);
    }
}
