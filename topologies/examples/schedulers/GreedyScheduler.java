// SPDX-License-Identifier: Apache-2.0
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerProvider;
import org.slotwise.systems.star.schedule.SchedulerSettings;

/** Connects the pair with the largest demand first in each slot: the example of docs/write-your-own.md. */
public final class GreedyScheduler implements SchedulerProvider, Scheduler {
    @Override
    public String name() {
        return "greedy";
    }

    @Override
    public String description() {
        return "In each slot, the largest demand first.";
    }

    @Override
    public Scheduler create(SchedulerSettings settings) {
        return new GreedyScheduler();
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        int edges = current.edges();
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(edges, current.slots());
        int[][] left = new int[edges][];
        for (int input = 0; input < edges; input++) {
            left[input] = demandSlots[input].clone();
        }
        for (int slot = 0; slot < current.slots(); slot++) {
            boolean[][] refused = new boolean[edges][edges];
            for (int[] pair = largest(left, refused); pair != null; pair = largest(left, refused)) {
                if (schedule.connectIfFree(slot, pair[0], pair[1])) {
                    left[pair[0]][pair[1]]--;
                }
                refused[pair[0]][pair[1]] = true;
            }
        }
        return schedule.build();
    }

    /** The pair that wants most of those not looked at in this slot, or null; of equal ones the first. */
    private static int[] largest(int[][] left, boolean[][] refused) {
        int[] best = null;
        for (int input = 0; input < left.length; input++) {
            for (int output = 0; output < left.length; output++) {
                boolean wants = input != output && left[input][output] > 0 && !refused[input][output];
                if (wants && (best == null || left[input][output] > left[best[0]][best[1]])) {
                    best = new int[] {input, output};
                }
            }
        }
        return best;
    }
}
