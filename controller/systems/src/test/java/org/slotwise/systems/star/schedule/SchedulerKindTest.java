// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SchedulerKindTest {
    @Test
    void missingSettingsGetTheirDefaults() throws InvalidSettingsException {
        assertEquals(Map.of("share", "equal", "order", "spread", "weights", "", "estimator", "ewma"),
                Schedulers.ours().named("fair").completeSettings(Map.of()));
        assertEquals(Map.of("iterations", "2", "seed", "1", "estimator", "trend"),
                Schedulers.ours().named("pim").completeSettings(Map.of("iterations", "2", "estimator", "trend")));
    }

    @Test
    void wrongNamesAndValuesAreRefusedWithWhatWouldBeRight() {
        assertEquals("unknown scheduler 'fare'; expected one of fair, islip, pim, maximum-weight, solstice, rotation",
                message(() -> Schedulers.ours().named("fare")));
        assertEquals("setting 'share' of scheduler 'fair': expected one of equal, proportional, got 'all'",
                message(() -> Kinds.FAIR.completeSettings(Map.of("share", "all"))));
        assertEquals("scheduler 'fair': unknown setting 'shar'; expected one of share, order, weights, estimator",
                message(() -> Kinds.FAIR.completeSettings(Map.of("shar", "equal"))));
        for (String bad : List.of("0", "17", "-1", "01", "1.5", "", "99999999999", "four")) {
            assertEquals("setting 'iterations' of scheduler 'islip': expected an integer 1 .. 16, got '" + bad + "'",
                    message(() -> Kinds.ISLIP.completeSettings(Map.of("iterations", bad))));
        }
        for (String bad : List.of("0>1", "0>1=0", "0>1=65", "0-1=2", "0>1=2,", "0>1=fist", "99999>1=2", "a>b=1")) {
            assertTrue(message(() -> Kinds.FAIR.completeSettings(Map.of("weights", bad)))
                    .contains("; expected sender>receiver=weight"));
        }
    }

    @Test
    void rotationServesAllPairsAlikeWhateverTheDemand() {
        int[][] demand = new int[5][5];
        demand[0][1] = 1000;
        int[][] service = new RotationScheduler().schedule(demand, FrameSchedule.empty(5, 8)).service();
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 5; j++) {
                assertEquals(i == j ? 0 : 2, service[i][j]);
            }
        }
    }

    @Test
    void everySchedulerGivesAScheduleOfTheRightSize() throws InvalidSettingsException {
        for (SchedulerKind kind : Schedulers.ours().all()) {
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
