// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;

class ScheduleReaderTest {
    private final Network star = Networks.star(3, 6);
    private final SwitchRules rules = new SwitchRules(star);
    private final ScheduleReader reader = new ScheduleReader(star);
    /** Edges 1 and 2 share port 1, edges 3 and 4 port 3; data slots from 5 on. */
    private final Network shared = Networks.sharingPorts(9, 0, 1, 1, 3, 3);
    private final SwitchRules sharedRules = new SwitchRules(shared);

    @Test
    void scheduleIsReadBackFromTheCore() {
        FrameSchedule schedule = new FrameSchedule.Builder(3, 3).connect(0, 1, 2).connect(2, 0, 1).build();
        List<TableEntry> entries = new ArrayList<>(rules.bankRules(star.core(), 1, schedule));
        entries.addAll(rules.bankRules(star.core(), 0, FrameSchedule.empty(3, 3)));
        assertEquals(schedule, readCore(entries, 1));
        assertEquals(FrameSchedule.empty(3, 3), readCore(entries, 0));
    }

    @Test
    void impossibleConnectionsAreNotReadBack() {
        List<TableEntry> entries = List.of(
                connection(3, 256, 257), connection(3, 258, 257), connection(4, 256, 256),
                connection(5, 300, 256), connection(9999, 256, 257), connection(5, 256, 300));
        assertEquals(new FrameSchedule.Builder(3, 3).connect(0, 0, 1).build(), readCore(entries, 0));
    }

    /** No port is shared, so no edge is asked. */
    private FrameSchedule readCore(List<TableEntry> entries, int bank) {
        return reader.read(entries, edge -> {
            throw new AssertionError("edge " + edge + " was asked");
        }, bank);
    }

    @Test
    void whoOfASharedPortSendsIsReadFromTheEdges() {
        FrameSchedule schedule = new FrameSchedule.Builder(5, 4)
                .connect(0, 1, 3).connect(0, 4, 0).connect(1, 2, 1).connect(2, 0, 4).connect(3, 2, 4).connect(3, 3, 2).build();
        assertEquals(schedule, read(schedule, schedule));
    }

    @Test
    void slotsThatTheCoreDoesNotConnectAreNotReadBack() {
        FrameSchedule core = new FrameSchedule.Builder(5, 4).connect(0, 1, 0).connect(2, 0, 3).build();
        FrameSchedule edges = new FrameSchedule.Builder(5, 4).connect(0, 1, 3).connect(1, 2, 1).connect(2, 0, 4).build();
        assertEquals(new FrameSchedule.Builder(5, 4).connect(2, 0, 4).build(), read(core, edges));
    }

    @Test
    void ofEdgesThatWouldSendAtOnceNoneIsReadBack() {
        FrameSchedule core = new FrameSchedule.Builder(5, 4).connect(0, 1, 3).build();
        FrameSchedule edges = new FrameSchedule.Builder(5, 4).connect(0, 1, 3).connect(0, 2, 4).build();
        assertEquals(FrameSchedule.empty(5, 4), read(core, edges));
    }

    /** What is read from bank 1, when bank 0 holds something else. */
    private FrameSchedule read(FrameSchedule ofCore, FrameSchedule ofEdges) {
        FrameSchedule other = new FrameSchedule.Builder(5, 4).connect(0, 2, 0).connect(3, 1, 0).build();
        List<TableEntry> core = new ArrayList<>(sharedRules.bankRules(shared.core(), 0, other));
        core.addAll(sharedRules.bankRules(shared.core(), 1, ofCore));
        return new ScheduleReader(shared).read(core, place -> {
            List<TableEntry> entries = new ArrayList<>(sharedRules.bankRules(shared.edges().get(place), 0, other));
            entries.addAll(sharedRules.bankRules(shared.edges().get(place), 1, ofEdges));
            return entries;
        }, 1);
    }

    private static TableEntry connection(int slot, int input, int output) {
        return TableEntry.in("crossbar").exact("bank", 0).exact("slot", slot).exact("input", input)
                .action("connect").param("port", output).build();
    }
}
