// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.tables.model.FixedEntries;

class TablesAppTest {
    private static final DeviceId EDGE = DeviceId.of(1);
    private static final TableEntry MARK = TableEntry.in("marks").match(Match.lpm("dst", 0x0a000201, 32)).action("mark").param("dscp", 46).build();
    private static final TableEntry DENY = TableEntry.in("access").match(Match.range("l4_dst", 1024, 2047)).priority(3).action("deny").build();
    private static final TableEntry OTHERWISE = TableEntry.in("marks").action("mark").param("dscp", 0).build();
    private static final TableEntry OF_THE_PROGRAM =
            TableEntry.in("marks").match(Match.lpm("dst", 0x0b000000, 8)).action("mark").param("dscp", 10).build();

    private final TablesApp app = new TablesApp(
            new FixedEntries.Builder().add(EDGE, MARK).add(EDGE, DENY).add(EDGE, OTHERWISE).build());

    private Command.Write write(Event event) {
        List<Command> commands = app.onEvent(0, event);
        assertEquals(1, commands.size(), commands::toString);
        return (Command.Write) commands.get(0);
    }

    private static List<String> text(Command.Write write) {
        return write.updates().stream().map(Update::toString).collect(Collectors.toList());
    }

    @Test
    void aSwitchThatConnectsGetsAllEntriesInOneBatch() {
        assertFalse(app.isConfigured());
        Command.Write write = write(new Event.DeviceReady(EDGE, List.of()));
        assertEquals(List.of("INSERT " + MARK, "INSERT " + DENY, "MODIFY " + OTHERWISE), text(write));
        app.onEvent(0, new Event.WriteDone(EDGE, write.batch()));
        assertTrue(app.isConfigured());
        assertTrue(app.view().switches().get(0).isSettled());
    }

    @Test
    void aSwitchThatRestartsGetsThemAgain() {
        app.onEvent(0, new Event.WriteDone(EDGE, write(new Event.DeviceReady(EDGE, List.of())).batch()));
        app.onEvent(1, new Event.DeviceLost(EDGE));
        assertFalse(app.view().switches().get(0).isReady());
        assertEquals(3, write(new Event.DeviceReady(EDGE, List.of())).updates().size());
    }

    @Test
    void entriesOfTheProgramStayAndThoseThatExistAreNotWritten() {
        Command.Write write = write(new Event.DeviceReady(EDGE, List.of(MARK, OF_THE_PROGRAM)));
        assertEquals(List.of("INSERT " + DENY, "MODIFY " + OTHERWISE), text(write));
    }

    @Test
    void aSwitchThatRejectsThemIsRead() {
        Command.Write write = write(new Event.DeviceReady(EDGE, List.of()));
        List<Command> commands = app.onEvent(0, new Event.WriteFailed(EDGE, write.batch()));
        assertInstanceOf(Command.ReadTables.class, commands.get(0));
        assertEquals(1, app.view().writeFailures());
    }

    @Test
    void onlyTablesWithEntriesAreOwned() {
        assertTrue(app.owns().has(EDGE, MARK) && app.owns().has(EDGE, DENY));
        assertFalse(app.owns().has(EDGE, TableEntry.in("voq").action("enqueue").build()));
    }
}
