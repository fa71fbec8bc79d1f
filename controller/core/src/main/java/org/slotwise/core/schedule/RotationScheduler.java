// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

/** Fixed rotation: in data slot s each edge sends to the (1 + s mod (edges - 1))-th after it, whatever the demand. */
final class RotationScheduler implements Scheduler {
    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        int edges = current.edges();
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(edges, current.slots());
        for (int slot = 0; slot < current.slots(); slot++) {
            int distance = 1 + slot % (edges - 1);
            for (int input = 0; input < edges; input++) {
                schedule.connect(slot, input, (input + distance) % edges);
            }
        }
        return schedule.build();
    }
}
