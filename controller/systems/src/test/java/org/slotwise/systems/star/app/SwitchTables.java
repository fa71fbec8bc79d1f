// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** Tables of switches. Strict: an update that a switch would refuse, or that changes nothing, fails the test. */
final class SwitchTables {
    private final Map<DeviceId, Map<String, TableEntry>> tables = new TreeMap<>();
    private final Map<DeviceId, Map<String, TableEntry>> defaults = new TreeMap<>();

    SwitchTables(List<DeviceId> devices) {
        devices.forEach(this::clear);
    }

    void clear(DeviceId device) {
        tables.put(device, new TreeMap<>());
        defaults.put(device, new TreeMap<>());
    }

    void apply(DeviceId device, Update update) {
        TableEntry entry = update.entry();
        if (entry.isDefault()) {
            assertEquals(Update.Type.MODIFY, update.type());
            defaults.get(device).put(entry.table(), entry);
            return;
        }
        Map<String, TableEntry> table = tables.get(device);
        String key = entry.table() + entry.matches();
        TableEntry before = table.get(key);
        if (update.type() == Update.Type.INSERT) {
            assertNull(before, () -> "already there: " + entry);
        } else {
            assertNotNull(before, () -> "not there: " + entry);
            assertTrue(update.type() == Update.Type.DELETE || !before.equals(entry), () -> "no change: " + entry);
        }
        if (update.type() == Update.Type.DELETE) {
            table.remove(key);
        } else {
            table.put(key, entry);
        }
    }

    List<TableEntry> entries(DeviceId device) {
        return new ArrayList<>(tables.get(device).values());
    }

    /** Null if there is none. */
    TableEntry get(DeviceId device, String key) {
        return tables.get(device).get(key);
    }

    /** Null if there is none. */
    TableEntry getDefault(DeviceId device, String table) {
        return defaults.get(device).get(table);
    }
}
