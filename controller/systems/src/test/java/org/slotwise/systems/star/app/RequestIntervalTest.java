// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;

/** Edges that ask every eighth frame only. {@link StarModel} fails a test in which light would be lost. */
class RequestIntervalTest {
    private static final int INTERVAL = 8;
    private static final DeviceId SLAVE = DeviceId.of(3);

    private final Network network = Networks.askingEvery(INTERVAL, Networks.star(4, 20));
    private final StarModel star = new StarModel(network);
    private final StarController controller = controller();

    private StarController controller() {
        return new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0);
    }

    private void settle() {
        star.attach(controller);
        star.runFrames(4 * INTERVAL);
        assertEquals(1, star.active);
    }

    private long count(Counter counter) {
        return controller.snapshot().statistics().get(counter);
    }

    @Test
    void scheduleFollowsDemandAnIntervalLater() {
        settle();
        star.backlog[1][2] = 400_000;
        star.runFrames(INTERVAL + 2);
        assertEquals(2, star.active);
        assertTrue(star.grantedSlots(1, 2) >= 10);
        assertEquals(Phase.COMMITTING, controller.snapshot().phase(), "nobody has told yet that it is in force");
        star.runFrames(INTERVAL);
        assertEquals(2, count(Counter.COMMITS_COMPLETED));
    }

    @Test
    void noMoreThanOneRequestOfEachEdgeComesInAnInterval() {
        settle();
        long before = count(Counter.REQUESTS_RECEIVED);
        star.runFrames(10 * INTERVAL);
        assertEquals(before + 10 * 4, count(Counter.REQUESTS_RECEIVED));
    }

    @Test
    void commitIsRepeatedIfItWasLostAndOnlyThen() {
        Random random = new Random(7);
        settle();
        for (int i = 0; i < 300; i++) {
            star.backlog[random.nextInt(4)][random.nextInt(4)] = random.nextInt(200_000);
            star.runFrame();
        }
        assertTrue(count(Counter.COMMITS_COMPLETED) > 5);
        assertEquals(0, count(Counter.COMMITS_REPEATED));

        star.runFrames(4 * INTERVAL);
        star.loseCommits = true;
        star.backlog[0][1] += 300_000;
        star.runFrames(4 * INTERVAL);
        assertEquals(0, count(Counter.COMMITS_REPEATED), "each costs a slow host as much as a request");
        star.loseCommits = false;
        long before = star.active;
        star.runFrames(2 * INTERVAL);
        assertEquals(1, count(Counter.COMMITS_REPEATED));
        assertTrue(star.active > before);
    }

    @Test
    void newControllerTakesOver() {
        settle();
        StarController second = controller();
        star.attach(second);
        star.runFrames(2 * INTERVAL);
        assertEquals(Phase.STEADY, second.snapshot().phase());
        assertEquals(1, star.active);
        star.backlog[1][2] = 400_000;
        star.runFrames(2 * INTERVAL);
        assertEquals(2, star.active);
    }

    @Test
    void edgeThatIsSilentForLongIsWaitedForNoMore() {
        settle();
        star.muteEdge = 3;
        star.backlog[1][2] = 400_000;
        star.runFrames(3 * INTERVAL);
        assertEquals(1, count(Counter.COMMITS_COMPLETED), "its requests may only be late");
        star.runFrames(8 * INTERVAL);
        assertTrue(count(Counter.COMMITS_COMPLETED) > 1);
    }

    @Test
    void masterThatObeysMayBeAlmostAnIntervalFurtherThanItHasTold() {
        long lateNs = 100 * network.frame().frameNs();
        Attendance attendance = new Attendance(network);
        attendance.lose(2);
        attendance.masterObeys(0, 16);
        attendance.masterAt(lateNs, 16 + INTERVAL);
        assertFalse(attendance.isSettled(), "the last beacon may be of frame 23");
        attendance.masterAt(lateNs, 16 + 2 * INTERVAL);
        assertTrue(attendance.isSettled());
    }

    @Test
    void bankIsNotReusedBeforeTheLastBeaconIsTooOld() {
        for (int phase = 0; phase < INTERVAL; phase++) {
            StarModel lossy = new StarModel(network);
            lossy.attach(controller());
            lossy.runFrames(4 * INTERVAL + phase);
            long before = lossy.active;
            lossy.deliver(new Event.DeviceLost(SLAVE));
            lossy.backlog[0][3] = 400_000;
            for (int frame = 0; frame < 6 * INTERVAL; frame++) {
                lossy.runFrame();
                assertTrue(lossy.active == before || !lossy.isLit(2), "a new schedule beside a slave that uses the old one");
            }
            assertTrue(lossy.active > before);
        }
    }
}
