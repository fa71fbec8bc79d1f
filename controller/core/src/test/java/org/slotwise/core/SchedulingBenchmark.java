// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.slotwise.core.schedule.FrameSchedule;
import org.slotwise.core.schedule.InvalidSettingsException;
import org.slotwise.core.schedule.Scheduler;
import org.slotwise.core.schedule.SchedulerKind;

/**
 * Measures how long a schedule takes: {@code mvn -q -pl core test -Pbench -DskipTests}. Demand is new and random in
 * every frame, with a fixed seed; the hash tells whether two runs did the same work.
 */
public final class SchedulingBenchmark {
    private static final int WARM_UP = 50_000;
    private static final int MEASURED = 100_000;
    private static final long SEED = 20260601;

    private SchedulingBenchmark() {
    }

    /** Runs the main scenario's size and some of the thesis's table 3.3. */
    public static void main(String[] args) throws InvalidSettingsException {
        System.out.println("edges slots order        p50 us   p99 us   max us  hash");
        for (String order : new String[] {"spread", "contiguous"}) {
            measure(4, 20, order, 1);
            measure(16, 128, order, 50);
            measure(64, 512, order, 2000);
        }
    }

    private static void measure(int edges, int slots, String order, int divisor) throws InvalidSettingsException {
        Scheduler scheduler = SchedulerKind.FAIR.create(SchedulerKind.FAIR.completeSettings(Map.of("order", order)));
        Random random = new Random(SEED);
        FrameSchedule schedule = FrameSchedule.empty(edges, slots - edges);
        long[] ns = new long[MEASURED / divisor];
        int hash = 0;
        for (int frame = -WARM_UP / divisor; frame < ns.length; frame++) {
            int[][] demand = demand(edges, slots, random);
            long start = System.nanoTime();
            schedule = scheduler.schedule(demand, schedule);
            if (frame >= 0) {
                ns[frame] = System.nanoTime() - start;
            }
            hash = 31 * hash + schedule.hashCode();
        }
        Arrays.sort(ns);
        System.out.printf("%5d %5d %-10s %8.1f %8.1f %8.1f  %08x%n", edges, slots, order, ns[ns.length / 2] / 1e3,
                ns[(int) (ns.length * 0.99)] / 1e3, ns[ns.length - 1] / 1e3, hash);
    }

    /** A third of the pairs is idle, a third small, a third greedy. */
    private static int[][] demand(int edges, int slots, Random random) {
        int[][] demand = new int[edges][edges];
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                int kind = random.nextInt(3);
                demand[i][j] = kind == 0 ? 0 : random.nextInt(kind == 1 ? 1 + slots / edges : 2 * slots);
            }
        }
        return demand;
    }
}
