// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** What holds for every scheduler, and what each of them is for. */
class SchedulersTest {
    @Provide
    Arbitrary<SchedulerKind> kinds() {
        return Kinds.any();
    }

    private static final int SLOTS = 16;

    @Provide
    Arbitrary<int[][]> demands() {
        return Matrices.square(Arbitraries.integers().between(2, 7),
                Arbitraries.oneOf(Arbitraries.integers().between(0, 3), Arbitraries.integers().between(0, 100)));
    }

    private static Scheduler create(SchedulerKind kind, Map<String, String> settings) {
        try {
            return kind.create(kind.completeSettings(settings));
        } catch (InvalidSettingsException e) {
            throw new AssertionError(e);
        }
    }

    @Property(seed = "20260801")
    void noSlotHasTwoForOneEdgeAndTheFrameHasItsSize(@ForAll("demands") int[][] demand, @ForAll("kinds") SchedulerKind kind) {
        Scheduler scheduler = create(kind, Map.of());
        FrameSchedule schedule = FrameSchedule.empty(demand.length, SLOTS);
        for (int frame = 0; frame < 3; frame++) {
            schedule = scheduler.schedule(demand, schedule);
            assertEquals(SLOTS, schedule.slots());
            assertEquals(demand.length, schedule.edges());
            Schedules.checkNoCollision(schedule);
        }
    }

    @Property(seed = "20260802")
    void sameDemandsSameSchedules(@ForAll("demands") int[][] demand, @ForAll("kinds") SchedulerKind kind) {
        Scheduler first = create(kind, Map.of());
        Scheduler second = create(kind, Map.of());
        FrameSchedule schedule = FrameSchedule.empty(demand.length, SLOTS);
        for (int frame = 0; frame < 3; frame++) {
            FrameSchedule next = first.schedule(demand, schedule);
            assertEquals(next, second.schedule(demand, schedule));
            schedule = next;
        }
    }

    @Property(seed = "20260803")
    void scheduleThatServesTheDemandStays(@ForAll @IntRange(min = 2, max = 6) int edges, @ForAll("kinds") SchedulerKind kind) {
        int[][] demand = new int[edges][edges];
        demand[0][1] = 2;
        Scheduler scheduler = create(kind, Map.of());
        FrameSchedule schedule = scheduler.schedule(demand, FrameSchedule.empty(edges, SLOTS));
        assertEquals(schedule, scheduler.schedule(demand, schedule));
    }

    @Property(seed = "20260804")
    void exactSchedulersNeverRejectWhatFits(@ForAll("demands") int[][] demand, @ForAll boolean solstice) {
        for (int i = 0; i < demand.length; i++) {
            demand[i][i] = 0;
        }
        for (int i = 0; i < demand.length; i++) {
            if (Matrices.row(demand, i) > SLOTS || Matrices.column(demand, i) > SLOTS) {
                return;
            }
        }
        int[][] service = create(solstice ? Kinds.SOLSTICE : Kinds.FAIR, Map.of())
                .schedule(demand, FrameSchedule.empty(demand.length, SLOTS)).service();
        for (int i = 0; i < demand.length; i++) {
            for (int j = 0; j < demand.length; j++) {
                assertTrue(service[i][j] >= demand[i][j]);
            }
        }
    }

    @Property(seed = "20260805")
    void noSlotIsIdleAtBothEndsOfAPairWithBacklog(@ForAll("demands") int[][] demand, @ForAll("kinds") SchedulerKind kind) {
        if (kind == Kinds.ROTATION) {
            return;
        }
        FrameSchedule schedule = create(kind, Map.of()).schedule(demand, FrameSchedule.empty(demand.length, SLOTS));
        int[][] service = schedule.service();
        for (int slot = 0; slot < SLOTS; slot++) {
            boolean[] receives = new boolean[demand.length];
            for (int i = 0; i < demand.length; i++) {
                if (schedule.output(slot, i) != FrameSchedule.NONE) {
                    receives[schedule.output(slot, i)] = true;
                }
            }
            for (int i = 0; i < demand.length; i++) {
                for (int j = 0; j < demand.length; j++) {
                    boolean idle = i != j && schedule.output(slot, i) == FrameSchedule.NONE && !receives[j];
                    assertTrue(!idle || service[i][j] >= demand[i][j], "idle slot " + slot);
                }
            }
        }
    }

    @Property(seed = "20260806", tries = 200)
    void maximumWeightIsThatOfTheBestPermutation(@ForAll("smallDemands") int[][] left) {
        int n = left.length;
        int[] receivers = new int[n];
        Arrays.fill(receivers, FrameSchedule.NONE);
        new MaximumWeightMatcher().match(left, receivers);
        long weight = 0;
        for (int i = 0; i < n; i++) {
            weight += receivers[i] == FrameSchedule.NONE ? 0 : left[i][receivers[i]];
        }
        assertEquals(bestPermutation(left, 0, new boolean[n]), weight);
    }

    @Provide
    Arbitrary<int[][]> smallDemands() {
        return Matrices.square(Arbitraries.integers().between(2, 5), Arbitraries.integers().between(0, 50));
    }

    private static long bestPermutation(int[][] left, int i, boolean[] taken) {
        if (i == left.length) {
            return 0;
        }
        long best = 0;
        for (int j = 0; j < left.length; j++) {
            if (!taken[j]) {
                taken[j] = true;
                best = Math.max(best, left[i][j] + bestPermutation(left, i + 1, taken));
                taken[j] = false;
            }
        }
        return best;
    }

    @Test
    void maximumWeightServesASmallDemandInTheEnd() {
        int[][] demand = {{0, 90, 1}, {0, 0, 0}, {0, 0, 0}};
        Scheduler scheduler = create(Kinds.MAXIMUM_WEIGHT, Map.of());
        FrameSchedule schedule = FrameSchedule.empty(3, SLOTS);
        int served = 0;
        for (int frame = 0; frame < 20; frame++) {
            schedule = scheduler.schedule(demand, schedule);
            served += schedule.service()[0][2];
        }
        assertTrue(served > 1);
    }

    @Test
    void islipPointersComeToServeEachPairAlike() {
        int[][] demand = {{100, 100, 100, 100}, {100, 100, 100, 100}, {100, 100, 100, 100}, {100, 100, 100, 100}};
        int[][] service = create(Kinds.ISLIP, Map.of("iterations", "1"))
                .schedule(demand, FrameSchedule.empty(4, 300)).service();
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                assertTrue(i == j || Math.abs(service[i][j] - 100) <= 10);
            }
        }
    }

    @Test
    void pimFollowsItsSeed() {
        int[][] demand = {{0, 9, 9, 9}, {9, 0, 9, 9}, {9, 9, 0, 9}, {9, 9, 9, 0}};
        FrameSchedule empty = FrameSchedule.empty(4, SLOTS);
        assertEquals(create(Kinds.PIM, Map.of("seed", "7")).schedule(demand, empty),
                create(Kinds.PIM, Map.of("seed", "7")).schedule(demand, empty));
        assertNotEquals(create(Kinds.PIM, Map.of("seed", "7")).schedule(demand, empty),
                create(Kinds.PIM, Map.of("seed", "8")).schedule(demand, empty));
    }

    @Test
    void solsticeReconfiguresLessThanSpreadSlots() {
        int[][] demand = {{0, 6, 5, 5}, {5, 0, 6, 5}, {5, 5, 0, 6}, {6, 5, 5, 0}};
        FrameSchedule empty = FrameSchedule.empty(4, SLOTS);
        int few = create(Kinds.SOLSTICE, Map.of()).schedule(demand, empty).reconfigurations();
        int many = create(Kinds.FAIR, Map.of("order", "spread")).schedule(demand, empty).reconfigurations();
        assertTrue(few <= 16 && 2 * few < many);
    }

    @Property(seed = "20260807")
    void solsticeKeepsDarkSlotsBeforeEachConfiguration(@ForAll("demands") int[][] demand) {
        FrameSchedule schedule = create(Kinds.SOLSTICE, Map.of("dark_slots", "1"))
                .schedule(demand, FrameSchedule.empty(demand.length, SLOTS));
        Schedules.checkNoCollision(schedule);
        for (int i = 0; i < demand.length; i++) {
            for (int slot = 0; slot < SLOTS; slot++) {
                int before = slot == 0 ? FrameSchedule.NONE : schedule.output(slot - 1, i);
                int now = schedule.output(slot, i);
                assertTrue(now == FrameSchedule.NONE || before == FrameSchedule.NONE || now == before);
            }
        }
    }

    @Test
    void scheduleInForceIsReturnedItselfIfNothingChanges() {
        Scheduler scheduler = create(Kinds.FAIR, Map.of());
        FrameSchedule first = scheduler.schedule(new int[3][3], FrameSchedule.empty(3, SLOTS));
        assertSame(first, scheduler.schedule(new int[3][3], first));
    }
}
