// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;

class AppHostTest {
    private static final DeviceId ONE = DeviceId.of(1);
    private static final DeviceId TWO = DeviceId.of(2);

    private final RecordingApp left = new RecordingApp("left", "edge",
            Ownership.tablesOf(RecordingApp.devices(1, 2), List.of("voq", "share")));
    private final RecordingApp right = new RecordingApp("right", "edge",
            Ownership.tablesOf(RecordingApp.devices(2, 3), List.of("route")));
    private final AppHost host = new AppHost(List.of(left, right));

    private static String refusal(RecordingApp... apps) {
        return assertThrows(AppHost.ConflictException.class, () -> new AppHost(List.of(apps))).getMessage();
    }

    private static RecordingApp app(String id, String program, Ownership owns) {
        return new RecordingApp(id, program, owns);
    }

    @Test
    void overlappingOwnershipIsRefusedWithTheTableAndTheSwitch() {
        Ownership tables = Ownership.tablesOf(RecordingApp.devices(2), List.of("share", "route"));
        assertEquals("applications 'left' and 'other' both own tables share of device 2",
                refusal(left, app("other", "edge", tables)));
        assertEquals("applications 'left' and 'other' both own tables share, voq of device 2",
                refusal(left, app("other", "edge", Ownership.allOf(RecordingApp.devices(2)))));
        assertEquals("applications 'a' and 'b' both own all tables of device 7",
                refusal(RecordingApp.of("a", 7), RecordingApp.of("b", 7)));
        assertEquals("applications 'a' and 'left' both own tables share, voq of device 1", refusal(RecordingApp.of("a", 1), left));
    }

    @Test
    void namesAndProgramsMustFit() {
        assertEquals("no applications; expected at least one", refusal());
        assertEquals("duplicate application 'a'", refusal(RecordingApp.of("a", 1), RecordingApp.of("a", 2)));
        assertTrue(refusal(RecordingApp.of("A/b", 1)).startsWith("invalid application name 'A/b'"));
        RecordingApp other = app("other", "core", Ownership.tablesOf(RecordingApp.devices(1), List.of("route")));
        assertTrue(refusal(left, other).startsWith("device 1: conflicting definitions n1 (device 1, edge) and"));
    }

    @Test
    void aSwitchOfTwoIsInTheTopologyOnce() {
        assertEquals(List.of(1L, 2L, 3L), host.topology().nodes().stream()
                .map(Node::device).map(DeviceId::value).collect(Collectors.toList()));
    }

    @Test
    void eachSeesItsOwnTablesOnly() {
        List<TableEntry> entries = List.of(RecordingApp.entry("voq"), RecordingApp.entry("route"), RecordingApp.entry("nobodys"));
        host.onEvent(0, new Event.DeviceReady(TWO, entries));
        assertEquals(List.of(entries.get(0)), ((Event.DeviceReady) left.events.get(0)).entries());
        assertEquals(List.of(entries.get(1)), ((Event.DeviceReady) right.events.get(0)).entries());
        host.onEvent(0, new Event.DeviceLost(ONE));
        assertEquals(2, left.events.size());
        assertEquals(1, right.events.size());
    }

    @Test
    void answersFindTheWriterThoughBothNumberTheirBatchesAlike() {
        left.onNext(event -> List.of(RecordingApp.write(2, 5, "voq")));
        right.onNext(event -> List.of(RecordingApp.write(2, 5, "route")));
        List<Command> commands = host.onEvent(0, new Event.DeviceReady(TWO, List.of()));
        Command.Write first = (Command.Write) commands.get(0);
        Command.Write second = (Command.Write) commands.get(1);
        host.onEvent(0, new Event.WriteDone(TWO, second.batch()));
        host.onEvent(0, new Event.WriteFailed(TWO, first.batch()));
        assertEquals(5, ((Event.WriteDone) right.events.get(1)).batch());
        assertEquals(5, ((Event.WriteFailed) left.events.get(1)).batch());
        assertEquals(2, left.events.size());
        assertEquals(2, right.events.size());
    }

    @Test
    void whoWritesWhatIsNotItsOwnIsADefect() {
        right.onNext(event -> List.of(RecordingApp.write(2, 1, "voq")));
        assertThrows(IllegalStateException.class, () -> host.onOrder(0, "right", new RecordingApp.Ask()));
        right.onNext(event -> List.of(RecordingApp.write(1, 1, "route")));
        assertThrows(IllegalStateException.class, () -> host.onOrder(0, "right", new RecordingApp.Ask()));
    }

    @Test
    void packetsGoToTheFirstThatClaimsThemAndOthersAreCounted() {
        host.onEvent(0, new Event.PacketIn(TWO, 1, new byte[0]));
        host.onEvent(0, new Event.PacketIn(DeviceId.of(3), 1, new byte[0]));
        host.onEvent(0, new Event.PacketIn(TWO, 2, new byte[0]));
        assertEquals(1, left.events.size());
        assertEquals(1, right.events.size());
        assertEquals(1, host.unclaimedPackets());
    }

    @Test
    void onlyThoseAreWokenWhoseTimeHasCome() {
        assertEquals(OptionalLong.empty(), host.nextDeadlineNs());
        left.deadlineNs = OptionalLong.of(20);
        right.deadlineNs = OptionalLong.of(10);
        assertEquals(OptionalLong.of(10), host.nextDeadlineNs());
        host.onEvent(10, new Event.DeadlineReached());
        assertEquals(0, left.events.size());
        assertEquals(1, right.events.size());
    }

    @Test
    void isConfiguredWhenAllAre() {
        host.onOrder(0, "left", new RecordingApp.Ask());
        assertFalse(host.isConfigured());
        host.onOrder(0, "right", new RecordingApp.Ask());
        assertTrue(host.isConfigured());
    }

    @Test
    void ordersNeedAnApplication() {
        assertThrows(IllegalArgumentException.class, () -> host.onOrder(0, "nobody", new RecordingApp.Ask()));
        assertThrows(IllegalArgumentException.class, () -> host.onEvent(0, new RecordingApp.Ask()));
    }

    @Test
    void anOrderOfOneToAnotherIsTakenBeforeAnythingElse() {
        RecordingApp giver = new RecordingApp("giver", "edge", Ownership.allOf(RecordingApp.devices(7)));
        assertEquals("application 'giver': cannot send requests to application 'left', which is missing or sends requests itself", refusal(giver.orderingTo("left")));
        assertEquals("application 'giver': cannot send requests to application 'giver', which is missing or sends requests itself", refusal(giver.orderingTo("giver")));
        giver.orderingTo("left");
        AppHost both = new AppHost(List.of(giver, left));
        RecordingApp.Ask order = new RecordingApp.Ask();
        giver.onNext(event -> List.of(new Command.ToApp("left", order), RecordingApp.write(7, 1, "voq")));
        left.onNext(event -> List.of(RecordingApp.write(1, 4, "voq")));
        List<Command> commands = both.onOrder(0, "giver", new RecordingApp.Ask());
        assertEquals(List.of(order), left.events);
        assertEquals(List.of(1L, 7L), commands.stream().map(each -> ((Command.Write) each).device().value()).collect(Collectors.toList()));
        assertEquals(List.of(2 * 4L + 1, 2L), commands.stream().map(each -> ((Command.Write) each).batch()).collect(Collectors.toList()));
        giver.onNext(event -> List.of(new Command.ToApp("right", order)));
        assertThrows(IllegalStateException.class, () -> both.onOrder(0, "giver", new RecordingApp.Ask()));
    }
}
