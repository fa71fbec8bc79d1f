// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class GreedySchedulerTest {
    @Test
    void whoWantsMostIsServedFirstAndNobodyMoreThanItAskedFor() {
        int[][] demand = {{0, 3, 1}, {0, 0, 2}, {9, 0, 0}};
        int[][] service = new GreedyScheduler().schedule(demand, FrameSchedule.empty(3, 4)).service();
        assertEquals(4, service[2][0], "a frame has four slots");
        assertEquals(3, service[0][1]);
        assertEquals(2, service[1][2]);
        assertEquals(1, service[0][2]);
    }

    @Test
    void nothingIsGrantedThatNobodyAskedFor() {
        int[][] service = new GreedyScheduler().schedule(new int[4][4], FrameSchedule.empty(4, 8)).service();
        for (int[] row : service) {
            for (int slots : row) {
                assertEquals(0, slots);
            }
        }
    }
}
