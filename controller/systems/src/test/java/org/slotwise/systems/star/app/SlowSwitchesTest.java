// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;

/** Several stars write to the same edges while some batches are refused. {@link StarModel} fails when light would collide. */
class SlowSwitchesTest {
    private static final int SEEDS = 20;
    private static final int FRAMES = 200;

    private final Network network = Networks.overlaid(4, 20, 2);

    private SlowTwins run(long seed, boolean ordered) {
        SlowTwins twins = new SlowTwins(network, Networks.scheduler(Kinds.FAIR), seed, ordered);
        Random random = new Random(seed);
        twins.start();
        twins.advance(Integer.MAX_VALUE);
        twins.runFrames(8);
        twins.refused = 5;
        for (int frame = 0; frame < FRAMES; frame++) {
            int from = random.nextInt(4);
            twins.setBacklog(from, (from + 1 + random.nextInt(3)) % 4, random.nextInt(300_000));
            twins.runFrames(1);
            twins.advance(random.nextInt(24));
        }
        twins.refused = 0;
        twins.advance(Integer.MAX_VALUE);
        return twins;
    }

    @Test
    void aRefusedBatchOfOneStarDoesNotSpoilTheOtherStars() {
        for (long seed = 0; seed < SEEDS; seed++) {
            SlowTwins twins = run(seed, true);
            Statistics statistics = twins.controller.snapshot().statistics();
            assertTrue(statistics.get(Counter.WRITE_FAILURES) > 0, "nothing was refused");
            assertTrue(statistics.get(Counter.COMMITS_COMPLETED) > 10, () -> "too few commits: "
                    + statistics.get(Counter.COMMITS_COMPLETED));
            long before = statistics.get(Counter.COMMITS_COMPLETED);
            for (int frame = 0; frame < 40; frame++) {
                twins.setBacklog(frame % 4, (frame + 1) % 4, 300_000);
                twins.runFrames(1);
                twins.advance(Integer.MAX_VALUE);
            }
            assertTrue(twins.controller.snapshot().statistics().get(Counter.COMMITS_COMPLETED) > before, "it stopped");
        }
    }

    /** That the test above can fail: reads and writes that are not kept in order break the rules with the same seeds. */
    @Test
    void readsThatOvertakeBatchesWouldBreakTheRules() {
        assertThrows(AssertionError.class, () -> {
            for (long seed = 0; seed < SEEDS; seed++) {
                run(seed, false);
            }
        });
    }
}
