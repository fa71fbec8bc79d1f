// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;

/**
 * Makes a frame slot by slot, each a matching of the demand that is left. Slots that the matching leaves idle go to any
 * pair that still has demand, then to the pairs of the fixed rotation. A schedule that it made stays as long as it serves
 * the demand: matchings with a memory would otherwise change it for nothing.
 */
final class SlotBySlotScheduler implements Scheduler {
    private final Matcher matcher;
    private FrameSchedule last;

    SlotBySlotScheduler(Matcher matcher) {
        this.matcher = matcher;
    }

    /** Finds who sends to whom in one slot; may remember what it did in the slots before. */
    interface Matcher {
        /**
         * Sets {@code receivers} by sender, all {@link FrameSchedule#NONE} before, to a matching of pairs that have
         * something left.
         */
        void match(int[][] left, int[] receivers);
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        if (current.equals(last) && serves(current, demandSlots)) {
            return current;
        }
        int edges = current.edges();
        int[][] left = new int[edges][];
        for (int i = 0; i < edges; i++) {
            left[i] = demandSlots[i].clone();
            left[i][i] = 0;
        }
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(edges, current.slots());
        int[] receivers = new int[edges];
        for (int slot = 0; slot < current.slots(); slot++) {
            Arrays.fill(receivers, FrameSchedule.NONE);
            matcher.match(left, receivers);
            for (int i = 0; i < edges; i++) {
                if (receivers[i] != FrameSchedule.NONE) {
                    schedule.connect(slot, i, receivers[i]);
                    left[i][receivers[i]]--;
                }
            }
            serveWhatIsLeft(schedule, slot, left);
        }
        schedule.fillByRotation();
        last = schedule.build();
        return last;
    }

    private static boolean serves(FrameSchedule schedule, int[][] demandSlots) {
        int[][] service = schedule.service();
        for (int i = 0; i < service.length; i++) {
            for (int j = 0; j < service.length; j++) {
                if (i != j && service[i][j] < demandSlots[i][j]) {
                    return false;
                }
            }
        }
        return true;
    }

    private static void serveWhatIsLeft(FrameSchedule.Builder schedule, int slot, int[][] left) {
        for (int i = 0; i < left.length; i++) {
            int first = (i + 1 + slot) % left.length;
            for (int k = 0; k < left.length && schedule.isFreeToSend(slot, i); k++) {
                int j = (first + k) % left.length;
                if (left[i][j] > 0 && schedule.connectIfFree(slot, i, j)) {
                    left[i][j]--;
                }
            }
        }
    }
}
