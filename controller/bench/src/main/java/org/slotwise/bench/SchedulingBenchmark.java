// SPDX-License-Identifier: Apache-2.0
package org.slotwise.bench;

import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;

/**
 * Time to make one frame's schedule from its demand matrix. {@code full} begins with an empty frame, {@code incremental}
 * with the frame before, of whose pairs one in a hundred has changed. Demand is random with a fixed seed: {@code heavy}
 * asks for far more than there is (a third of the pairs idle, a third small, a third greedy), {@code fitting} for about
 * two thirds of it.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 1, jvmArgs = {"-Xms1g", "-Xmx2g", "-XX:+UseSerialGC"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
public class SchedulingBenchmark {
    private static final long SEED = 20260601;
    /** Demands are walked to and fro, so that neighbours differ little at the ends as well. */
    private static final int DEMANDS = 16;

    /** Edges by slots of a frame; each edge takes one slot for signaling. */
    @Param({"4x20", "16x32", "16x64", "16x128", "32x64", "32x128", "32x256", "64x128", "64x256", "64x512", "256x1024",
        "1024x4096"})
    public String size;

    /** What the frame is made from. */
    @Param({"full", "incremental"})
    public String start;

    /** How much is asked for. */
    @Param({"heavy", "fitting"})
    public String load;

    /** Name of the scheduler, with all its defaults. */
    @Param("fair")
    public String scheduler;

    private final int[][][] demands = new int[DEMANDS][][];
    private Scheduler made;
    private FrameSchedule empty;
    private FrameSchedule schedule;
    private int position;
    private int step = 1;

    /** Makes demands. */
    @Setup
    public void setUp() throws InvalidSettingsException {
        int edges = Integer.parseInt(size.substring(0, size.indexOf('x')));
        int slots = Integer.parseInt(size.substring(size.indexOf('x') + 1));
        SchedulerKind kind = Schedulers.ours().named(scheduler);
        made = kind.create(kind.completeSettings(Map.of()));
        empty = FrameSchedule.empty(edges, slots - edges);
        schedule = empty;
        Random random = new Random(SEED);
        demands[0] = new int[edges][edges];
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                demands[0][i][j] = wanted(edges, slots, random);
            }
        }
        for (int k = 1; k < DEMANDS; k++) {
            demands[k] = new int[edges][];
            for (int i = 0; i < edges; i++) {
                demands[k][i] = demands[k - 1][i].clone();
            }
            for (int changes = 0; changes < Math.max(1, edges * edges / 100); changes++) {
                demands[k][random.nextInt(edges)][random.nextInt(edges)] = wanted(edges, slots, random);
            }
        }
    }

    private int wanted(int edges, int slots, Random random) {
        if (load.equals("fitting")) {
            // On average two thirds of a line; whole slots, so that small frames are not all zero.
            double mean = 2.0 / 3 * (slots - edges) / (edges - 1);
            return (int) (random.nextDouble() * 2 * mean + random.nextDouble());
        }
        int kind = random.nextInt(3);
        return kind == 0 ? 0 : random.nextInt(kind == 1 ? 1 + slots / edges : 2 * slots);
    }

    /** Makes one frame. */
    @Benchmark
    public FrameSchedule frame() {
        if (position + step < 0 || position + step == DEMANDS) {
            step = -step;
        }
        position += step;
        schedule = made.schedule(demands[position], start.equals("full") ? empty : schedule);
        return schedule;
    }
}
