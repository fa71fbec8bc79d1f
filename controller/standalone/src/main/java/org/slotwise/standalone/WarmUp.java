// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.util.Random;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.network.Network;
import org.slotwise.star.schedule.FrameSchedule;
import org.slotwise.star.schedule.Scheduler;

/**
 * Runs the scheduler on made-up demand until the JVM has compiled it: the first schedules of a cold JVM take longer
 * than a frame may, and a controller that takes over has no time to learn.
 */
final class WarmUp {
    private static final long SEED = 1;
    /** About where the JVM's optimizing compiler has seen enough of a star of four. */
    private static final int PAIR_SLOTS = 1_000_000;

    private WarmUp() {
    }

    /** Takes a fraction of a second, whatever the network's size. */
    static void run(Network network, SchedulerChosen choice) {
        Scheduler scheduler = choice.kind().create(choice.settings());
        Random random = new Random(SEED);
        int edges = network.edges().size();
        int slots = network.dataSlots();
        FrameSchedule schedule = FrameSchedule.empty(edges, slots);
        for (long done = 0; done < PAIR_SLOTS; done += (long) edges * edges * slots) {
            int[][] demand = new int[edges][edges];
            for (int[] row : demand) {
                for (int receiver = 0; receiver < edges; receiver++) {
                    row[receiver] = random.nextBoolean() ? random.nextInt(2 * slots) : 0;
                }
            }
            schedule = scheduler.schedule(demand, schedule);
        }
    }
}
