// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

/** What every schedule must obey. */
final class Schedules {
    private Schedules() {
    }

    /** Never two to one receiver in a slot, and nobody to itself; that a sender has one receiver is the data type's. */
    static void checkNoCollision(FrameSchedule schedule) {
        for (int slot = 0; slot < schedule.slots(); slot++) {
            boolean[] taken = new boolean[schedule.edges()];
            for (int input = 0; input < schedule.edges(); input++) {
                int output = schedule.output(slot, input);
                if (output != FrameSchedule.NONE) {
                    assertNotEquals(input, output);
                    assertFalse(taken[output]);
                    taken[output] = true;
                }
            }
        }
    }
}
