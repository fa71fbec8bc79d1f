// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Topology;

class TableAppTest {
    private static final DeviceId DEVICE = DeviceId.of(1);
    private static final TableEntry ENTRY = TableEntry.in("table").exact("key", 1).action("act").build();

    /** One switch, which is to have these entries. */
    private static final class Fixed extends TableApp<KeptSwitch, Object> {
        private final List<TableEntry> entries;

        Fixed(TableEntry... entries) {
            super("fixed", new Topology.Builder().node(new Node(DEVICE, "switch", "program")).build(), Ownership.allOf(List.of(DEVICE)));
            this.entries = List.of(entries);
            add(new KeptSwitch(DEVICE));
        }

        @Override
        protected List<Update> changes(KeptSwitch state) {
            return state.changesTo(entries);
        }

        @Override
        public Object view() {
            return entries;
        }
    }

    private static List<Command> ready(Fixed app, TableEntry... entries) {
        assertFalse(app.isConfigured());
        return app.onEvent(0, new Event.DeviceReady(DEVICE, List.of(entries)));
    }

    @Test
    void aSwitchIsConfiguredWhenItHasAcknowledged() {
        Fixed app = new Fixed(ENTRY);
        Command.Write write = (Command.Write) ready(app).get(0);
        assertFalse(app.isConfigured());
        app.onEvent(0, new Event.WriteDone(DEVICE, write.batch()));
        assertTrue(app.isConfigured());
    }

    @Test
    void aSwitchThatHasAllEntriesAlreadyIsConfigured() {
        Fixed app = new Fixed(ENTRY);
        assertEquals(List.of(), ready(app, ENTRY));
        assertTrue(app.isConfigured());
    }

    @Test
    void aSwitchThatIsToHaveNoEntriesIsConfigured() {
        Fixed app = new Fixed();
        assertEquals(List.of(), ready(app));
        assertTrue(app.isConfigured());
    }
}
