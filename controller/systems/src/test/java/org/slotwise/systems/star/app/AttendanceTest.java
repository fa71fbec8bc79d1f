// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.shared.model.SlotsReserved;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;

/** A star goes on without a slave whose switch is lost. {@link StarModel} fails a test in which light would be lost. */
class AttendanceTest {
    private static final DeviceId CORE = DeviceId.of(1001);
    private static final DeviceId MASTER = DeviceId.of(1);
    private static final DeviceId SLAVE = DeviceId.of(3);
    private static final String ITS_BEACON = "signaling[core=0, repeat=1, slot=2]";

    private final Network network = Networks.star(4, 20);
    private final StarModel star = new StarModel(network);
    private final StarController controller = new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0);

    private void settle() {
        star.attach(controller);
        star.runFrames(8);
    }

    private boolean hasBeacon() {
        return star.entry(MASTER, ITS_BEACON) != null;
    }

    @Test
    void slaveThatIsLostHearsNoBeaconAndIsScheduledNoMore() {
        settle();
        long before = star.active;
        assertTrue(hasBeacon() && star.grantedSlots(0, 2) > 0);
        star.deliver(new Event.DeviceLost(SLAVE));
        assertFalse(hasBeacon());
        star.backlog[0][3] = 400_000;
        star.backlog[0][2] = 400_000;
        star.runFrames(8);
        assertTrue(star.active > before);
        assertEquals(0, star.grantedSlots(0, 2));
        assertEquals(16, star.grantedSlots(0, 3));
        assertFalse(star.isLit(2));
        assertEquals(Phase.STEADY, controller.snapshot().phase());
    }

    @Test
    void slotsReservedOfALostSlaveAreOthersUntilItIsBack() {
        settle();
        int[][] slots = new int[4][4];
        slots[0][2] = 12;
        slots[1][3] = 2;
        star.deliver(new SlotsReserved(slots));
        star.backlog[0][3] = 400_000;
        star.runFrames(8);
        assertTrue(star.grantedSlots(0, 2) >= 12);
        star.deliver(new Event.DeviceLost(SLAVE));
        star.backlog[0][3] = 400_000;
        star.runFrames(8);
        assertEquals(0, star.grantedSlots(0, 2));
        assertEquals(14, star.grantedSlots(0, 3));
        assertEquals(2, star.grantedSlots(1, 3));
        star.ready(SLAVE);
        star.runFrames(8);
        assertTrue(star.grantedSlots(0, 2) >= 12);
    }

    @Test
    void bankIsNotReusedBeforeTheLastBeaconIsTooOld() {
        settle();
        long before = star.active;
        star.deliver(new Event.DeviceLost(SLAVE));
        star.backlog[0][3] = 400_000;
        for (int frame = 0; frame < 12; frame++) {
            star.runFrame();
            assertTrue(star.active == before || !star.isLit(2), "a new schedule beside a slave that uses the old one");
        }
        assertTrue(star.active > before);
    }

    @Test
    void slaveThatIsBackHasNoDataSlotBeforeItsBeaconAndThenTakesPart() {
        settle();
        star.deliver(new Event.DeviceLost(SLAVE));
        star.runFrames(10);
        star.holdWrites = true;
        star.ready(SLAVE);
        assertEquals(SLAVE, star.heldWrites.getFirst().device());
        assertFalse(hasBeacon());
        star.holdWrites = false;
        star.carryOut(star.heldWrites.remove());
        assertTrue(hasBeacon());
        for (int slot = 4; slot < 20; slot++) {
            assertNull(star.entry(SLAVE, "slot_schedule[bank=0, core=0, slot=" + slot + "]"));
            assertNull(star.entry(SLAVE, "slot_schedule[bank=1, core=0, slot=" + slot + "]"));
        }
        star.backlog[2][1] = 400_000;
        star.runFrames(12);
        assertEquals(16, star.grantedSlots(2, 1));
        assertTrue(star.grantedSlots(0, 2) > 0);
    }

    @Test
    void slaveThatIsBackAtOnceIsAlsoMadeDarkFirst() {
        settle();
        long before = star.active;
        star.deliver(new Event.DeviceLost(SLAVE));
        star.ready(SLAVE);
        assertEquals(0, star.grantedSlots(2, 0));
        star.runFrames(8);
        assertTrue(star.active > before);
        assertTrue(star.grantedSlots(2, 0) > 0);
    }

    @Test
    void scheduleThatIsBeingWrittenToALostSlaveIsGivenUp() {
        settle();
        long before = star.active;
        star.holdWrites = true;
        star.backlog[0][3] = 400_000;
        star.runFrame();
        assertEquals(Phase.WRITING, controller.snapshot().phase());
        star.deliver(new Event.DeviceLost(SLAVE));
        star.holdWrites = false;
        while (!star.heldWrites.isEmpty()) {
            Command.Write write = star.heldWrites.remove();
            if (!write.device().equals(SLAVE)) {
                star.carryOut(write);
            }
        }
        assertEquals(1, star.packetOuts.size());
        star.runFrames(8);
        assertTrue(star.active > before);
        assertEquals(16, star.grantedSlots(0, 3));
    }

    @Test
    void lostMasterOrCoreStillStopsTheStarAndALostSlaveDoesNotHoldItUpWhenItReturns() {
        settle();
        star.deliver(new Event.DeviceLost(SLAVE));
        for (DeviceId needed : new DeviceId[] {MASTER, CORE}) {
            star.runFrames(3);
            star.deliver(new Event.DeviceLost(needed));
            star.runFrames(3);
            assertEquals(Phase.WAITING_FOR_DEVICES, controller.snapshot().phase());
            star.ready(needed);
            assertNull(star.entry(MASTER, ITS_BEACON));
            star.runFrames(10);
            assertEquals(Phase.STEADY, controller.snapshot().phase());
        }
        star.ready(SLAVE);
        star.runFrames(8);
        assertNotNull(star.entry(MASTER, ITS_BEACON));
        assertTrue(star.grantedSlots(0, 2) > 0);
    }

    @Test
    void slavesThatComeAndGoNeverBreakARule() {
        settle();
        Random random = new Random(20261121);
        boolean[] lost = new boolean[4];
        for (int i = 0; i < 600; i++) {
            int slave = 1 + random.nextInt(3);
            if (random.nextInt(4) == 0) {
                lost[slave] = !lost[slave];
                if (lost[slave]) {
                    star.deliver(new Event.DeviceLost(DeviceId.of(slave + 1)));
                } else {
                    star.ready(DeviceId.of(slave + 1));
                }
            }
            star.backlog[random.nextInt(2)][2 + random.nextInt(2)] = random.nextInt(200_000);
            star.loseCommits = random.nextInt(10) == 0;
            star.runFrame();
        }
        for (int slave = 1; slave < 4; slave++) {
            if (lost[slave]) {
                star.ready(DeviceId.of(slave + 1));
            }
        }
        star.loseCommits = false;
        star.backlog[2][1] = 400_000;
        star.runFrames(20);
        assertTrue(star.active > 20);
        assertEquals(16, star.grantedSlots(2, 1));
    }
}
