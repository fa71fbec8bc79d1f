// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class TableMirrorTest {
    private final TableMirror mirror = new TableMirror();

    @Test
    void onlyDifferencesAreWritten() {
        mirror.reset(List.of(grant(1, 7), grant(2, 8), grant(3, 9)));
        assertEquals(List.of(
                new Update(Update.Type.DELETE, grant(3, 9)),
                new Update(Update.Type.MODIFY, grant(2, 5)),
                new Update(Update.Type.INSERT, grant(4, 1))),
                mirror.changesTo(List.of(grant(1, 7), grant(2, 5), grant(4, 1)), entry -> true));
    }

    @Test
    void nothingOutOfScopeIsDeleted() {
        mirror.reset(List.of(grant(1, 7), grant(2, 8)));
        assertEquals(List.of(new Update(Update.Type.DELETE, grant(2, 8))),
                mirror.changesTo(List.of(), entry -> entry.matchValue("slot").orElse(0) == 2));
    }

    @Test
    void acknowledgedChangesAreRemembered() {
        List<TableEntry> desired = List.of(grant(1, 7), grant(2, 8));
        mirror.apply(mirror.changesTo(desired, entry -> true));
        assertEquals(List.of(), mirror.changesTo(desired, entry -> true));
        mirror.apply(mirror.changesTo(List.of(), entry -> true));
        assertEquals(List.of(), mirror.entries(entry -> true));
    }

    @Test
    void defaultEntryIsModifiedEachTime() {
        TableEntry params = TableEntry.in("core_params").action("set_core_params").param("guard", 1).build();
        List<Update> write = List.of(new Update(Update.Type.MODIFY, params));
        assertEquals(write, mirror.changesTo(List.of(params), entry -> true));
        mirror.apply(write);
        assertEquals(write, mirror.changesTo(List.of(params), entry -> true));
    }

    private static TableEntry grant(int slot, int queue) {
        return TableEntry.in("slot_schedule").exact("bank", 0).exact("slot", slot)
                .action("grant").param("queue", queue).build();
    }
}
