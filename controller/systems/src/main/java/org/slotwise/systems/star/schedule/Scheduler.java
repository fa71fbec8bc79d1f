// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/**
 * Decides who sends when. Deterministic: the same inputs in the same order give the same schedules; a scheduler may
 * remember what it did before, to share over many frames what one frame cannot.
 */
public interface Scheduler {
    /**
     * Returns the schedule of the next frames. If it throws something, {@link FailedException} with the reason at best, the
     * schedule in force stays.
     *
     * @param demandSlots slots wanted by (sender, receiver), not negative; the diagonal is ignored
     * @param current the schedule in force, with the number of edges and data slots
     */
    FrameSchedule schedule(int[][] demandSlots, FrameSchedule current);

    /** There is no schedule this time; the message says why. */
    final class FailedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason. */
        public FailedException(String reason) {
            super(reason);
        }
    }
}
