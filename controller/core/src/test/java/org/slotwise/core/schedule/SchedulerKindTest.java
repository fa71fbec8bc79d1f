// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class SchedulerKindTest {
    @Test
    void missingSettingsGetTheirDefaults() throws InvalidSettingsException {
        assertEquals(Map.of("share", "equal", "order", "spread"),
                SchedulerKind.named("fair").completeSettings(Map.of()));
        assertEquals(Map.of("share", "equal", "order", "contiguous"),
                SchedulerKind.named("fair").completeSettings(Map.of("order", "contiguous")));
    }

    @Test
    void wrongNamesAndValuesAreRefusedWithWhatWouldBeRight() {
        assertEquals("there is no scheduler 'fare'; there are fair, rotation",
                message(() -> SchedulerKind.named("fare")));
        assertEquals("setting 'share' of scheduler 'fair' must be one of equal, proportional, got 'all'",
                message(() -> SchedulerKind.FAIR.completeSettings(Map.of("share", "all"))));
        assertEquals("scheduler 'fair' has no setting 'shar'; it has share, order",
                message(() -> SchedulerKind.FAIR.completeSettings(Map.of("shar", "equal"))));
        assertEquals("scheduler 'rotation' has no setting 'share'; it has none",
                message(() -> SchedulerKind.ROTATION.completeSettings(Map.of("share", "equal"))));
    }

    @Test
    void rotationServesAllPairsAlikeWhateverTheDemand() {
        int[][] demand = new int[5][5];
        demand[0][1] = 1000;
        int[][] service = SchedulerKind.ROTATION.create(Map.of())
                .schedule(demand, FrameSchedule.empty(5, 8)).service();
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 5; j++) {
                assertEquals(i == j ? 0 : 2, service[i][j]);
            }
        }
    }

    @Test
    void everySchedulerGivesAScheduleOfTheRightSize() throws InvalidSettingsException {
        for (SchedulerKind kind : SchedulerKind.values()) {
            FrameSchedule schedule = kind.create(kind.completeSettings(Map.of()))
                    .schedule(new int[2][2], FrameSchedule.empty(2, 3));
            assertEquals(3, schedule.slots());
            assertTrue(schedule.edges() == 2);
        }
    }

    private interface Action {
        void run() throws InvalidSettingsException;
    }

    private static String message(Action action) {
        return assertThrows(InvalidSettingsException.class, action::run).getMessage();
    }
}
