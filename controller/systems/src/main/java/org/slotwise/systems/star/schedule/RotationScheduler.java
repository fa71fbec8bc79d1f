// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/** Fixed rotation: in data slot s each edge sends to the (1 + s mod (edges - 1))-th after it, whatever the demand. */
final class RotationScheduler implements Scheduler {
    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(current.edges(), current.slots());
        schedule.fillByRotation();
        return schedule.build();
    }
}
