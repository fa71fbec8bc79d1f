// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.shared.model.SlotsReserved;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.demand.RequestRefusal;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.wire.WireConstants;

class StarControllerTest {
    /** Two to learn what is in force, and two for a commit. */
    private static final int FRAMES_TO_FIRST_SCHEDULE = 6;

    private final Network network = Networks.star(4, 20);
    private final StarModel star = new StarModel(network);
    private final StarController controller = controller();

    private StarController controller() {
        return new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0);
    }

    private void settle() {
        star.attach(controller);
        star.runFrames(FRAMES_TO_FIRST_SCHEDULE);
    }

    private long count(Counter counter) {
        return controller.snapshot().statistics().get(counter);
    }

    @Test
    void coreIsConfiguredBeforeTheMasterAndThatBeforeTheSlaves() {
        assertFalse(controller.isConfigured());
        star.attach(controller);
        assertEquals(List.of("1001", "1", "2", "3", "4"), star.deviceWriteOrder);
        assertTrue(controller.isConfigured());
        assertEquals(Phase.LEARNING, controller.snapshot().phase());
    }

    @Test
    void nothingIsWrittenUntilAllSwitchesAreThere() {
        star.attach(controller);
        star.deviceWriteOrder.clear();
        star.deliver(new Event.DeviceLost(DeviceId.of(1)));
        star.runFrames(5);
        assertEquals(Phase.WAITING_FOR_DEVICES, controller.snapshot().phase());
        assertEquals(List.of(), star.deviceWriteOrder);
        star.ready(DeviceId.of(1));
        star.runFrames(FRAMES_TO_FIRST_SCHEDULE);
        assertEquals(1, star.active);
    }

    @Test
    void withoutDemandEveryPairGetsItsPartOfTheFrame() {
        settle();
        assertEquals(1, star.active);
        for (int from = 0; from < 4; from++) {
            for (int to = 0; to < 4; to++) {
                assertTrue(from == to || star.grantedSlots(from, to) >= 5);
            }
        }
    }

    @Test
    void requestsThatComeAfterTheirSwitchesWereLostDoNotOutdateThoseOfTheirNextLife() {
        settle();
        star.frame = 5000;
        star.runFrames(2);
        star.deliver(new Event.DeviceLost(DeviceId.of(2)));
        star.runFrames(1);
        network.devices().forEach(device -> star.deliver(new Event.DeviceLost(device)));
        star.runFrames(3);
        star.frame = 0;
        network.devices().forEach(star::ready);
        star.runFrames(FRAMES_TO_FIRST_SCHEDULE);
        assertEquals(Phase.STEADY, controller.snapshot().phase());
    }

    @Test
    void scheduleInForceIsTold() {
        settle();
        star.backlog[0][3] = 400_000;
        star.runFrames(6);
        assertEquals(List.of(Version.of(1), Version.of(2)),
                star.inForce.stream().map(ScheduleInForce::version).collect(Collectors.toList()));
        assertTrue(star.inForce.get(0).changedConnections() > star.inForce.get(1).changedConnections());
        assertTrue(star.inForce.get(1).changedConnections() >= 10);
    }

    @Test
    void unchangedScheduleIsNotWrittenAgain() {
        settle();
        long writes = count(Counter.WRITE_BATCHES);
        long frames = count(Counter.FRAMES_SCHEDULED);
        star.runFrames(20);
        assertEquals(writes, count(Counter.WRITE_BATCHES));
        assertEquals(1, count(Counter.COMMITS_SENT));
        assertEquals(frames + 20, count(Counter.FRAMES_SCHEDULED));
    }

    @Test
    void hotPairHasWhatOthersLeaveWithinTenFramesOfTheFirstRequestThatShowsIt() {
        settle();
        for (int from = 0; from < 4; from++) {
            for (int to = 0; to < 4; to++) {
                star.backlog[from][to] = from == to ? 0 : 12_000;
            }
        }
        star.backlog[1][2] = 400_000;
        star.runFrames(4);
        for (int to : new int[] {0, 3}) {
            star.backlog[1][to] = 0;
            star.backlog[to][2] = 0;
        }
        star.runFrames(6);
        assertEquals(16, star.grantedSlots(1, 2));
    }

    @Test
    void forecastKeepsTheSlotsOfASteadyStreamThatLeavesNoBacklog() {
        settle();
        for (int i = 0; i < 20; i++) {
            star.arrived[1][2] += 10 * 5920;
            star.arrived[1][3] += 4 * 5920;
            star.runFrame();
        }
        assertTrue(star.grantedSlots(1, 2) >= 10);
        assertTrue(star.grantedSlots(1, 3) >= 4);
    }

    @Test
    void scheduleGoesOnWithoutARequestThatIsLost() {
        settle();
        star.backlog[0][3] = 400_000;
        star.muteEdge = 2;
        star.runFrame();
        star.muteEdge = -1;
        star.runFrames(4);
        assertEquals(16, star.grantedSlots(0, 3));
    }

    @Test
    void bankIsNotReusedBeforeEveryEdgeReportsTheOtherInForce() {
        settle();
        star.backlog[0][3] = 400_000;
        star.runFrame();
        star.muteEdge = 2;
        star.runFrames(2);
        assertEquals(2, star.active);
        star.backlog[0][3] = 0;
        star.runFrames(3);
        assertEquals(Phase.COMMITTING, controller.snapshot().phase());
        star.muteEdge = -1;
        star.runFrames(3);
        assertEquals(3, star.active);
    }

    @Test
    void silentEdgeIsNotWaitedForForEver() {
        settle();
        star.backlog[2][0] = 400_000;
        star.runFrames(4);
        star.muteEdge = 2;
        star.runFrames(12);
        star.backlog[0][3] = 400_000;
        star.runFrames(6);
        assertEquals(16, star.grantedSlots(0, 3));
        assertEquals(0, controller.snapshot().backlogBytes(2, 0));
    }

    @Test
    void lostCommitIsSentAgain() {
        star.attach(controller);
        star.loseCommits = true;
        star.runFrames(8);
        star.loseCommits = false;
        assertEquals(0, star.active);
        star.runFrames(6);
        assertEquals(1, star.active);
        assertTrue(count(Counter.COMMITS_REPEATED) > 0);
        assertEquals(1, count(Counter.COMMITS_SENT));
    }

    @Test
    void commitWaitsForTheLastAcknowledgement() {
        star.attach(controller);
        star.holdWrites = true;
        star.runFrames(6);
        assertEquals(5, star.heldWrites.size());
        while (star.heldWrites.size() > 1) {
            star.carryOut(star.heldWrites.remove());
        }
        assertEquals(List.of(), star.packetOuts);
        star.carryOut(star.heldWrites.remove());
        assertEquals(1, star.packetOuts.size());
    }

    @Test
    void failedWriteLeadsToReadingTheSwitchAndStartingAgain() {
        star.attach(controller);
        star.holdWrites = true;
        star.runFrames(4);
        Command.Write failed = star.heldWrites.remove();
        star.holdWrites = false;
        while (!star.heldWrites.isEmpty()) {
            star.carryOut(star.heldWrites.remove());
        }
        star.deliver(new Event.WriteFailed(failed.device(), failed.batch()));
        assertEquals(1, count(Counter.WRITE_FAILURES));
        star.runFrames(FRAMES_TO_FIRST_SCHEDULE);
        assertEquals(1, star.active);
    }

    @Test
    void noEdgeUsesADataSlotFromTheLossOfTheCoreToANewSchedule() {
        settle();
        long version = star.active;
        assertTrue(star.grantedSlots(0, 1) > 0);
        star.stop(network.core().device());
        assertEquals(0, star.grantedSlots(0, 1) + star.grantedSlots(1, 2) + star.grantedSlots(3, 0));
        star.ready(network.core().device());
        assertEquals(0, star.grantedSlots(0, 1) + star.grantedSlots(1, 2) + star.grantedSlots(3, 0));
        star.runFrames(FRAMES_TO_FIRST_SCHEDULE);
        assertEquals(version + 1, star.active);
        assertTrue(star.grantedSlots(0, 1) > 0);
    }

    @Test
    void coreIsConfiguredWhoeverElseIsMissing() {
        DeviceId core = network.core().device();
        settle();
        star.stop(core);
        star.stop(network.master().device());
        star.ready(core);
        long ways = 2L * (network.edges().size() - 1);
        assertEquals(2 * ways, star.tables.entries(core).size(), "slaves go on asking, in either bank's signaling slots");
    }

    @Test
    void newControllerTakesOverWithoutTouchingWhatIsInForce() {
        settle();
        star.backlog[0][3] = 400_000;
        star.runFrames(4);
        long version = star.active;
        StarController second = controller();
        star.attach(second);
        star.runFrames(3);
        assertEquals(Version.of(version), second.snapshot().version().orElseThrow());
        assertEquals(16, star.grantedSlots(0, 3));
        star.backlog[0][3] = 0;
        star.runFrames(6);
        assertEquals(version + 1, star.active);
    }

    @Test
    void takeoverInTheMiddleOfAWriteMendsTheIdleBank() {
        settle();
        star.holdWrites = true;
        star.backlog[0][3] = 400_000;
        star.runFrames(2);
        star.applyOnly(star.heldWrites.remove());
        star.applyOnly(star.heldWrites.remove());
        star.holdWrites = false;
        star.attach(controller());
        star.backlog[0][3] = 0;
        star.backlog[2][1] = 400_000;
        star.runFrames(6);
        assertEquals(16, star.grantedSlots(2, 1));
    }

    @Test
    void takeoverWaitsForACommitThatTheFormerControllerSent() {
        settle();
        star.backlog[0][3] = 400_000;
        star.runFrame();
        assertEquals(2, star.packetOuts.size());
        StarController second = controller();
        star.attach(second);
        star.runFrames(2);
        assertEquals(2, star.active);
        star.runFrames(6);
        assertEquals(16, star.grantedSlots(0, 3));
    }

    @Test
    void chosenSchedulerHoldsFromTheNextFrame() {
        settle();
        star.backlog[0][3] = 400_000;
        star.runFrames(4);
        star.deliver(Networks.scheduler(Kinds.ROTATION));
        star.runFrames(4);
        assertEquals(Kinds.ROTATION, controller.snapshot().scheduler());
        assertTrue(star.grantedSlots(0, 3) <= 6);
    }

    @Test
    void hostilePacketsAreCountedAndChangeNothing() {
        settle();
        long frames = count(Counter.FRAMES_SCHEDULED);
        Random random = new Random(20260501);
        for (int i = 0; i < 2000; i++) {
            byte[] bytes = new byte[random.nextInt(200)];
            random.nextBytes(bytes);
            star.deliver(new Event.PacketIn(DeviceId.of(1), WireConstants.PORT_OPTICAL_BASE, bytes));
        }
        star.deliver(new Event.PacketIn(DeviceId.of(1), WireConstants.PORT_OPTICAL_BASE,
                new RequestMessage(1).frame(star.frame).versions(9, 9).backlog(0, 0xffff_ffffL).encode()));
        Statistics statistics = controller.snapshot().statistics();
        assertEquals(2001, statistics.refusals().values().stream().mapToLong(Long::longValue).sum());
        assertEquals(1, statistics.refusals().get(RequestRefusal.STALE));
        assertEquals(frames, count(Counter.FRAMES_SCHEDULED));
        assertEquals(0, controller.snapshot().backlogBytes(1, 0));
    }

    @Test
    void forgedVersionsStopSchedulingOnlyUntilTheTruthComes() {
        settle();
        star.deliver(new Event.PacketIn(DeviceId.of(1), WireConstants.PORT_LINECARD,
                new RequestMessage(0).frame(star.frame + 1).versions(77, 78).encode()));
        assertEquals(Phase.LEARNING, controller.snapshot().phase());
        star.backlog[0][3] = 400_000;
        star.runFrames(8);
        assertEquals(16, star.grantedSlots(0, 3));
    }

    /** A request of an edge that names a frame of the far future. */
    private void tellFarFrame(int edge) {
        int port = edge == 0 ? WireConstants.PORT_LINECARD : WireConstants.PORT_OPTICAL_BASE;
        star.deliver(new Event.PacketIn(DeviceId.of(1), port,
                new RequestMessage(edge).frame(star.frame + 0x4000_0000L).versions(star.active, star.active).encode()));
    }

    @Test
    void requestsOfTheFutureAreRefused() {
        settle();
        star.backlog[0][3] = 400_000;
        for (int frame = 0; frame < 8; frame++) {
            tellFarFrame(frame % 4);
            star.runFrame();
        }
        assertEquals(8, controller.snapshot().statistics().refusals().get(RequestRefusal.BAD_FIELD));
        assertEquals(0, controller.snapshot().statistics().refusals().get(RequestRefusal.STALE));
        assertEquals(16, star.grantedSlots(0, 3));
    }

    /** As that of an edge whose fibre was cut: each block of its queues was refused once. */
    @Test
    void theFirstRequestAfterALongSilenceIsTaken() {
        settle();
        star.muteEdge = 2;
        star.runFrames(300);
        star.muteEdge = -1;
        star.runFrames(8);
        assertEquals(Set.of(0L), new HashSet<>(controller.snapshot().statistics().refusals().values()));
    }

    @Test
    void wrongFrameOfTheFirstRequestsIsForgotten() {
        star.attach(controller);
        for (int edge = 0; edge < 4; edge++) {
            tellFarFrame(edge);
        }
        star.backlog[0][3] = 400_000;
        star.runFrames(14);
        assertEquals(16, star.grantedSlots(0, 3));
    }

    @Test
    void anyMasterAndManyEdgesWork() {
        StarModel large = new StarModel(Networks.star(20, 64, 13));
        large.attach(new StarController(large.network, Networks.scheduler(Kinds.FAIR), () -> 0));
        large.backlog[19][2] = 1_000_000;
        large.runFrames(10);
        assertEquals(44, large.grantedSlots(19, 2));
    }

    @Test
    void randomDemandNeverBreaksARule() {
        settle();
        Random random = new Random(20260502);
        for (int i = 0; i < 400; i++) {
            int from = random.nextInt(4);
            int to = random.nextInt(4);
            star.backlog[from][to] = from == to ? 0 : random.nextInt(200_000);
            star.muteEdge = random.nextInt(10) == 0 ? 1 + random.nextInt(3) : -1;
            star.loseCommits = random.nextInt(10) == 0;
            star.runFrame();
        }
        assertTrue(count(Counter.COMMITS_COMPLETED) > 50);
    }

    @Test
    void sameEventsSameSchedules() {
        StarModel first = new StarModel(network);
        StarModel second = new StarModel(network);
        for (StarModel model : List.of(first, second)) {
            model.attach(controller());
            Random random = new Random(20260503);
            for (int i = 0; i < 100; i++) {
                model.backlog[random.nextInt(2)][2 + random.nextInt(2)] = random.nextInt(300_000);
                model.runFrame();
            }
        }
        assertEquals(first.active, second.active);
        assertEquals(first.deviceWriteOrder, second.deviceWriteOrder);
        assertEquals(first.grantedSlots(0, 2), second.grantedSlots(0, 2));
    }

    @Test
    void unknownDeviceIsTheAdaptersMistake() {
        assertThrows(IllegalArgumentException.class,
                () -> controller.onEvent(0, new Event.DeviceLost(DeviceId.of(99))));
    }

    @Test
    void reservedSlotsAreThereThoughOthersAskForAllAndTheScheduleIsSettled() {
        settle();
        for (int from = 0; from < 4; from++) {
            for (int to = 0; to < 4; to++) {
                star.backlog[from][to] = from == to ? 0 : 400_000;
            }
        }
        star.runFrames(6);
        assertTrue(star.grantedSlots(1, 2) < 12);
        int[][] slots = new int[4][4];
        slots[1][2] = 12;
        star.deliver(new SlotsReserved(slots));
        star.runFrames(6);
        assertTrue(star.grantedSlots(1, 2) >= 12);
        star.backlog[1][2] = 0;
        star.runFrames(30);
        assertTrue(star.grantedSlots(1, 2) >= 12);
        star.deliver(new SlotsReserved(new int[4][4]));
        star.runFrames(6);
        assertTrue(star.grantedSlots(1, 2) < 12);
        slots[1][3] = 5;
        assertEquals(List.of("slot reservation rejected: edge 1: expected at most 16 slots, got 17 to send and 0 to receive"), controller.onEvent(0, new SlotsReserved(slots))
                .stream().filter(Command.Notice.class::isInstance).map(Object::toString).collect(Collectors.toList()));
        assertEquals("slot reservation rejected: slots for 5 edges; expected 4", controller.onEvent(0, new SlotsReserved(new int[5][5])).get(0).toString());
    }

    @Test
    void reservedSlotsAreWrittenOnce() {
        settle();
        int[][] slots = new int[4][4];
        slots[1][2] = 12;
        star.deliver(new SlotsReserved(slots));
        star.runFrames(6);
        assertTrue(star.grantedSlots(1, 2) >= 12);
        long writes = count(Counter.WRITE_BATCHES);
        star.runFrames(20);
        assertEquals(writes, count(Counter.WRITE_BATCHES));
    }
}
