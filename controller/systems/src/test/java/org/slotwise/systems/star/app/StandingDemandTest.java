// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;

/** Small streams beside a greedy one, with queues that fill and drain as granted. */
class StandingDemandTest {
    private static final int SETTLE_FRAMES = 40;
    private static final int MEASURED_FRAMES = 200;
    /** 2 Mb/s: about a fifth of a slot a frame. */
    private static final long SMALL_BYTES_PER_FRAME = 1250;
    private static final int PACKET_BYTES = 1480;
    private static final long GREEDY_BACKLOG_BYTES = 400_000;

    private final Network network = Networks.star(4, 20);
    private final StarModel star = new StarModel(network);
    private final long[][] offered = new long[4][4];
    private final int[][] framesWithoutSlot = new int[4][4];
    private final long[][] mostBacklog = new long[4][4];
    private final int[][] slots = new int[4][4];

    /** Whole packets arrive, those that fit the slots leave; a greedy queue stays full. */
    private void runFrame(long[][] bytesPerFrame) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                long packets = (offered[i][j] + bytesPerFrame[i][j]) / PACKET_BYTES - offered[i][j] / PACKET_BYTES;
                offered[i][j] += bytesPerFrame[i][j];
                long capacity = star.grantedSlots(i, j) * network.slotPayloadBytes(network.edges().get(i));
                star.arrived[i][j] += packets * PACKET_BYTES;
                star.backlog[i][j] = Math.max(0, star.backlog[i][j] + packets * PACKET_BYTES - capacity);
            }
        }
        star.backlog[1][2] = GREEDY_BACKLOG_BYTES;
        star.arrived[1][2] += star.grantedSlots(1, 2) * network.slotPayloadBytes(network.edges().get(1));
        star.runFrame();
    }

    private void measure() {
        long[][] bytesPerFrame = new long[4][4];
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                bytesPerFrame[i][j] = i == j || i == 1 && j == 2 ? 0 : SMALL_BYTES_PER_FRAME;
            }
        }
        star.attach(new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0));
        for (int frame = 0; frame < SETTLE_FRAMES; frame++) {
            runFrame(bytesPerFrame);
        }
        for (int frame = 0; frame < MEASURED_FRAMES; frame++) {
            runFrame(bytesPerFrame);
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 4; j++) {
                    slots[i][j] += star.grantedSlots(i, j);
                    framesWithoutSlot[i][j] += star.grantedSlots(i, j) == 0 ? 1 : 0;
                    mostBacklog[i][j] = Math.max(mostBacklog[i][j], star.backlog[i][j]);
                }
            }
        }
    }

    @Test
    void smallStandingDemandKeepsASlotBesideAGreedyPair() {
        measure();
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                if (i != j) {
                    assertEquals(0, framesWithoutSlot[i][j], "frames without a slot, pair " + i + " -> " + j);
                }
            }
        }
    }

    @Test
    void smallQueuesStayShortAndTheGreedyPairHasTheRest() {
        measure();
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                assertTrue(i == j || i == 1 && j == 2 || mostBacklog[i][j] <= 2 * PACKET_BYTES,
                        "backlog of " + mostBacklog[i][j] + " bytes, pair " + i + " -> " + j);
            }
        }
        assertEquals(14, slots[1][2] / MEASURED_FRAMES);
    }
}
