// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.Random;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.Reasons;
import org.slotwise.systems.star.schedule.Scheduler;

/**
 * Runs the scheduler on made-up demand until the JVM has compiled it: the first schedules of a cold JVM take longer
 * than a frame may, and a controller that takes over has no time to learn.
 */
final class WarmUp {
    private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);
    private static final long SEED = 1;
    /** About where the JVM's optimizing compiler has seen enough of a star of four. */
    private static final int PAIR_SLOTS = 1_000_000;
    /** One that is somebody's own may be slow. */
    private static final long LONGEST_NS = 5_000_000_000L;

    private WarmUp() {
    }

    /** Takes a fraction of a second, whatever the network's size. One that fails in it may do so when it is needed, too. */
    static void run(Network network, SchedulerChosen choice) {
        try {
            practise(network, choice);
        } catch (RuntimeException | Error e) {
            LOG.warn("scheduler '{}': warm-up failed: {}", choice.kind().title(), Reasons.of(e));
        }
    }

    private static void practise(Network network, SchedulerChosen choice) {
        Scheduler scheduler = choice.kind().create(choice.settings());
        Random random = new Random(SEED);
        int edges = network.edges().size();
        int slots = network.dataSlots();
        FrameSchedule schedule = FrameSchedule.empty(edges, slots);
        long end = System.nanoTime() + LONGEST_NS;
        for (long done = 0; done < PAIR_SLOTS && System.nanoTime() < end; done += (long) edges * edges * slots) {
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
