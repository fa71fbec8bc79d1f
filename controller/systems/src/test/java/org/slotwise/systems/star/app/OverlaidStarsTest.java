// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;

/** Two stars over four edges. {@link StarModel} fails a test in which light would be lost in either. */
class OverlaidStarsTest {
    private static final int EDGES = 4;
    private static final int SETTLE_FRAMES = 8;
    private static final DeviceId FIRST_CORE = DeviceId.of(1001);
    private static final DeviceId FIRST_MASTER = DeviceId.of(1);

    private final Network network = Networks.overlaid(EDGES, 20, 2);
    private final TwinModel twins = new TwinModel(network, Networks.scheduler(Kinds.FAIR));

    private void settle() {
        twins.start();
        twins.runFrames(SETTLE_FRAMES);
    }

    private int granted(int from, int to) {
        return twins.stars.stream().mapToInt(star -> star.grantedSlots(from, to)).sum();
    }

    private void checkAllParts(int... expected) {
        for (int from = 0; from < EDGES; from++) {
            for (int to = 0; to < EDGES; to++) {
                if (from != to) {
                    assertArrayEquals(expected, twins.parts(from, to), "parts of " + from + " -> " + to);
                }
            }
        }
    }

    @Test
    void oneCoreNeedsNoneOfIt() {
        assertInstanceOf(StarController.class, NetworkController.of(
                Networks.star(4, 20), Networks.scheduler(Kinds.FAIR), () -> 0));
        assertInstanceOf(OverlaidStars.class, NetworkController.of(
                network, Networks.scheduler(Kinds.FAIR), () -> 0));
    }

    @Test
    void bothStarsAreConfiguredAndScheduledAndShareTheTrafficEvenly() {
        assertFalse(twins.controller.isConfigured());
        settle();
        assertTrue(twins.controller.isConfigured());
        checkAllParts(8, 8);
        for (StarModel star : twins.stars) {
            assertEquals(1, star.active);
            assertTrue(star.grantedSlots(2, 3) >= 5);
        }
        Snapshot snapshot = twins.controller.snapshot();
        assertEquals(Phase.STEADY, snapshot.phase());
        assertEquals(6, snapshot.readyDevices().size());
        assertEquals(8, snapshot.parts(2, 3, 1));
        assertTrue(snapshot.stars().stream().allMatch(StarSnapshot::isLive));
    }

    @Test
    void edgeIsMasterOfOneStarAndSlaveOfTheOther() {
        settle();
        assertEquals(1, twins.tables.get(FIRST_MASTER, "edge_params[core=0]").params().get("is_master"));
        assertEquals(0, twins.tables.get(FIRST_MASTER, "edge_params[core=1]").params().get("is_master"));
        assertEquals(1, twins.tables.get(FIRST_MASTER, "edge_params[core=1]").params().get("master"));
        assertEquals(0, twins.tables.getDefault(FIRST_MASTER, "edge_params").params().get("is_master"));
        assertNotNull(twins.tables.get(FIRST_MASTER, "signaling[core=0, repeat=2, slot=0]"));
        assertNotNull(twins.tables.get(FIRST_MASTER, "signaling[core=1, repeat=1, slot=0]"));
        DeviceId second = DeviceId.of(2);
        assertEquals("send_commit", twins.tables.get(second, "signaling[core=1, repeat=1, slot=0]").action());
        assertEquals("send_commit", twins.tables.get(second, "signaling[core=1, repeat=2, slot=0]").action());
        assertEquals("send_request", twins.tables.get(second, "signaling[core=1, repeat=1, slot=1]").action());
    }

    @Test
    void demandAboveOneStarIsSplitOverBoth() {
        settle();
        for (int frame = 0; frame < 10; frame++) {
            twins.setBacklog(2, 3, 1_000_000);
            twins.runFrames(1);
        }
        assertEquals(32, granted(2, 3));
    }

    @Test
    void loadMovesToTheStarThatHasLessOfItAndThenStays() {
        settle();
        // What edge 2 has for 3 is one flow, which the first star carries; what it has for 0 can go by either.
        for (int frame = 0; frame < 100; frame++) {
            twins.stars.get(0).backlog[2][3] = 250_000;
            twins.setBacklog(2, 0, 600_000);
            twins.runFrames(1);
        }
        assertTrue(twins.parts(2, 0)[1] > twins.parts(2, 0)[0]);
        assertArrayEquals(new int[] {8, 8}, twins.parts(1, 3));
        int[] parts = twins.parts(2, 0);
        twins.writes.clear();
        for (int frame = 0; frame < 100; frame++) {
            twins.setBacklog(2, 0, 600_000);
            twins.runFrames(1);
        }
        assertArrayEquals(parts, twins.parts(2, 0));
        assertTrue(twins.writes.stream().noneMatch(write -> write.contains("voq_share")), twins.writes::toString);
    }

    @Test
    void lostCoreGivesItsPartsToTheOtherStarAtOnceAndGetsThemBack() {
        settle();
        twins.lose(FIRST_CORE);
        checkAllParts(0, 16);
        twins.dark[0] = true;
        for (int frame = 0; frame < 10; frame++) {
            twins.setBacklog(2, 3, 1_000_000);
            twins.runFrames(1);
        }
        assertEquals(16, twins.stars.get(1).grantedSlots(2, 3));
        assertFalse(twins.controller.snapshot().stars().get(0).isLive());
        twins.setBacklog(2, 3, 0);
        twins.dark[0] = false;
        twins.ready(FIRST_CORE);
        twins.runFrames(OverlaidStars.WELL_FRAMES - 2);
        checkAllParts(0, 16);
        twins.runFrames(20);
        checkAllParts(8, 8);
    }

    @Test
    void lostMasterEndsItsStarAndTheOtherOneGoesOnWithoutIt() {
        settle();
        twins.lose(FIRST_MASTER);
        assertArrayEquals(new int[] {0, 16}, twins.parts(2, 3));
        twins.dark[0] = true;
        twins.stars.get(1).muteEdge = 0;
        long version = twins.stars.get(1).active;
        for (int frame = 0; frame < 20; frame++) {
            twins.setBacklog(2, 3, 1_000_000);
            twins.runFrames(1);
        }
        assertTrue(twins.stars.get(1).active > version);
        assertEquals(16, twins.stars.get(1).grantedSlots(2, 3));
        assertEquals(0, twins.stars.get(1).grantedSlots(2, 0));
        // It starts anew, with empty tables.
        twins.dark[0] = false;
        twins.stars.get(1).muteEdge = -1;
        twins.tables.clear(FIRST_MASTER);
        twins.ready(FIRST_MASTER);
        twins.setBacklog(2, 3, 0);
        twins.runFrames(60);
        checkAllParts(8, 8);
        assertTrue(twins.stars.get(0).grantedSlots(2, 0) > 0 && twins.stars.get(1).grantedSlots(2, 0) > 0);
    }

    @Test
    void starWhoseRequestsDoNotComeIsLeftAfterEightFrames() {
        settle();
        twins.dark[0] = true;
        twins.runFrames(OverlaidStars.SILENT_FRAMES - 1);
        checkAllParts(8, 8);
        twins.runFrames(3);
        checkAllParts(0, 16);
    }

    @Test
    void cutFibreMovesOnlyTheTrafficOfItsEdge() {
        settle();
        twins.stars.get(0).muteEdge = 2;
        twins.runFrames(OverlaidStars.SILENT_FRAMES + 3);
        assertArrayEquals(new int[] {0, 16}, twins.parts(2, 3));
        assertArrayEquals(new int[] {0, 16}, twins.parts(1, 2));
        assertArrayEquals(new int[] {8, 8}, twins.parts(1, 3));
        twins.stars.get(0).muteEdge = -1;
        twins.runFrames(40);
        checkAllParts(8, 8);
    }

    @Test
    void masterThatIsShutDownGivesItsTrafficAwayUntilItIsTakenBack() {
        settle();
        twins.deliver(new MasterShutdown(CoreId.of(1), true));
        checkAllParts(16, 0);
        twins.runFrames(40);
        checkAllParts(16, 0);
        assertTrue(twins.controller.snapshot().stars().get(1).state().isShutDown());
        twins.deliver(new MasterShutdown(CoreId.of(1), false));
        twins.runFrames(40);
        checkAllParts(8, 8);
        assertThrows(IllegalArgumentException.class,
                () -> twins.deliver(new MasterShutdown(CoreId.of(5), true)));
    }

    @Test
    void whereNoStarIsWellNothingMoves() {
        settle();
        twins.dark[0] = true;
        twins.dark[1] = true;
        twins.runFrames(30);
        checkAllParts(8, 8);
        twins.dark[0] = false;
        twins.dark[1] = false;
        twins.runFrames(40);
        checkAllParts(8, 8);
    }

    @Test
    void refusedWriteOfRoutesIsReadAgainAndMended() {
        twins.start();
        twins.runFrames(SETTLE_FRAMES);
        twins.tables.clear(DeviceId.of(4));
        long batch = -1;
        for (Command command : twins.controller.onEvent(twins.nowNs, new Event.DeviceLost(FIRST_CORE))) {
            if (command instanceof Command.Write && ((Command.Write) command).device().equals(DeviceId.of(4))) {
                batch = ((Command.Write) command).batch();
            }
        }
        List<Command> answer = twins.controller.onEvent(twins.nowNs, new Event.WriteFailed(DeviceId.of(4), batch));
        assertTrue(answer.stream().anyMatch(Command.ReadTables.class::isInstance));
        twins.ready(DeviceId.of(4));
        assertArrayEquals(new int[] {0, 16}, twins.parts(3, 0));
        assertEquals(1, twins.controller.snapshot().statistics().get(Counter.WRITE_FAILURES));
    }

    @Test
    void newControllerFindsAllAsItShouldBeAndWritesNoEntryAnew() {
        settle();
        TwinModel second = new TwinModel(network, Networks.scheduler(Kinds.FAIR));
        for (DeviceId device : network.devices()) {
            List<Command> commands = second.controller.onEvent(0, new Event.DeviceReady(device, twins.tables.entries(device)));
            commands.stream().filter(Command.Write.class::isInstance).map(Command.Write.class::cast)
                    .flatMap(write -> write.updates().stream())
                    .forEach(update -> assertTrue(update.entry().isDefault(), update::toString));
        }
    }

    @Test
    void packetsOfStrangersAreRefusedAndUnknownDevicesAreTheAdaptersMistake() {
        settle();
        twins.deliver(new Event.PacketIn(DeviceId.of(4), 256, new byte[20]));
        twins.deliver(new Event.PacketIn(FIRST_MASTER, 257, new RequestMessage(2).frame(99).encode()));
        twins.deliver(new Event.PacketIn(FIRST_MASTER, 256, new RequestMessage(2).frame(99).block(1).encode()));
        assertEquals(3, twins.controller.snapshot().statistics().refusals().values().stream().mapToLong(n -> n).sum());
        assertThrows(IllegalArgumentException.class,
                () -> twins.controller.onEvent(0, new Event.DeviceLost(DeviceId.of(99))));
    }

    private static void runRandomly(TwinModel model, long seed) {
        Random random = new Random(seed);
        boolean[] lost = new boolean[6];
        model.start();
        for (int i = 0; i < 500; i++) {
            int k = random.nextInt(6);
            if (random.nextInt(12) == 0) {
                DeviceId device = model.network.devices().get(k);
                lost[k] = !lost[k];
                if (lost[k]) {
                    model.lose(device);
                } else {
                    model.ready(device);
                }
            }
            int from = random.nextInt(4);
            int to = (from + 1 + random.nextInt(3)) % 4;
            model.setBacklog(from, to, random.nextInt(300_000));
            model.stars.get(random.nextInt(2)).muteEdge = random.nextInt(10) == 0 ? random.nextInt(4) : -1;
            model.stars.forEach(star -> star.loseCommits = random.nextInt(10) == 0);
            model.runFrames(1);
        }
    }

    @Test
    void switchesThatComeAndGoNeverBreakARuleAndTheSameEventsGiveTheSame() {
        TwinModel second = new TwinModel(network, Networks.scheduler(Kinds.FAIR));
        runRandomly(twins, 20261122);
        runRandomly(second, 20261122);
        assertEquals(twins.writes, second.writes);
        assertTrue(twins.controller.snapshot().statistics().get(Counter.COMMITS_COMPLETED) > 50);
    }
}
