// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class EdgeColouringTest {
    @Property(seed = "20260201")
    void everyAdmissibleServiceIsServedExactly(@ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll @IntRange(min = 1, max = 70) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        int[][] service = admissible(edges, slots, random);
        FrameSchedule schedule = EdgeColouring.decompose(service, FrameSchedule.empty(edges, slots), order);
        checkNoCollision(schedule);
        assertArrayEquals(service, schedule.service());
    }

    @Property(seed = "20260202")
    void incrementalResultServesTheNewServiceExactly(@ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll @IntRange(min = 1, max = 70) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        FrameSchedule schedule = FrameSchedule.empty(edges, slots);
        for (int round = 0; round < 4; round++) {
            int[][] service = admissible(edges, slots, random);
            FrameSchedule again = EdgeColouring.decompose(service, schedule, order);
            assertEquals(again, EdgeColouring.decompose(service, schedule, order), "not deterministic");
            schedule = again;
            checkNoCollision(schedule);
            assertArrayEquals(service, schedule.service());
        }
    }

    @Property(seed = "20260203")
    void unchangedServiceKeepsTheSchedule(@ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll @IntRange(min = 1, max = 70) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        FrameSchedule before = EdgeColouring.decompose(
                admissible(edges, slots, random), FrameSchedule.empty(edges, slots), order);
        assertEquals(before, EdgeColouring.decompose(before.service(), before, order));
    }

    @Test
    void oneUnitLessChangesOneConnection() {
        int[][] service = FairShare.allocate(new int[4][4], 16, FairShare.Share.EQUAL);
        FrameSchedule before =
                EdgeColouring.decompose(service, FrameSchedule.empty(4, 16), SlotOrder.SPREAD);
        service[1][2]--;
        FrameSchedule after = EdgeColouring.decompose(service, before, SlotOrder.SPREAD);
        int different = 0;
        for (int slot = 0; slot < 16; slot++) {
            for (int input = 0; input < 4; input++) {
                different += before.output(slot, input) == after.output(slot, input) ? 0 : 1;
            }
        }
        assertEquals(1, different);
    }

    @Test
    void pathIsSwappedWhereNoSlotIsFreeAtBothEnds() {
        // Edge 0 can only send in slot 1, edge 3 only receive in slot 0.
        FrameSchedule before = new FrameSchedule.Builder(4, 2).connect(0, 0, 1).connect(1, 2, 3).build();
        int[][] service = new int[4][4];
        service[0][1] = 1;
        service[2][3] = 1;
        service[0][3] = 1;
        FrameSchedule after = EdgeColouring.decompose(service, before, SlotOrder.SPREAD);
        checkNoCollision(after);
        assertArrayEquals(service, after.service());
    }

    @Test
    void spreadKeepsSlotsApartAndContiguousTogether() {
        int[][] service = new int[3][3];
        service[0][1] = 4;
        assertEquals(List.of(0, 2, 4, 6),
                slotsOf(EdgeColouring.decompose(service, FrameSchedule.empty(3, 8), SlotOrder.SPREAD)));
        assertEquals(List.of(0, 1, 2, 3),
                slotsOf(EdgeColouring.decompose(service, FrameSchedule.empty(3, 8), SlotOrder.CONTIGUOUS)));
    }

    @Test
    void overloadAndNonsenseAreRefused() {
        FrameSchedule empty = FrameSchedule.empty(3, 2);
        for (int[][] bad : List.of(
                new int[][] {{0, 2, 1}, {0, 0, 0}, {0, 0, 0}}, new int[][] {{0, 2, 0}, {0, 0, 0}, {0, 1, 0}},
                new int[][] {{1, 0, 0}, {0, 0, 0}, {0, 0, 0}}, new int[][] {{0, -1, 0}, {0, 0, 0}, {0, 0, 0}})) {
            assertThrows(IllegalArgumentException.class,
                    () -> EdgeColouring.decompose(bad, empty, SlotOrder.SPREAD));
        }
    }

    private static List<Integer> slotsOf(FrameSchedule schedule) {
        List<Integer> slots = new ArrayList<>();
        for (int slot = 0; slot < schedule.slots(); slot++) {
            if (schedule.output(slot, 0) == 1) {
                slots.add(slot);
            }
        }
        return slots;
    }

    private static void checkNoCollision(FrameSchedule schedule) {
        for (int slot = 0; slot < schedule.slots(); slot++) {
            boolean[] taken = new boolean[schedule.edges()];
            for (int input = 0; input < schedule.edges(); input++) {
                int output = schedule.output(slot, input);
                if (output != FrameSchedule.NONE) {
                    assertTrue(output != input && !taken[output]);
                    taken[output] = true;
                }
            }
        }
    }

    /** Fills as much as fits, unit by unit in random order, so that most lines are full: the hardest case. */
    private static int[][] admissible(int edges, int slots, Random random) {
        int[][] service = new int[edges][edges];
        List<int[]> pairs = new ArrayList<>();
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                if (i != j && random.nextInt(5) > 0) {
                    pairs.add(new int[] {i, j});
                }
            }
        }
        for (int unit = 0; unit < edges * slots; unit++) {
            Collections.shuffle(pairs, random);
            for (int[] pair : pairs) {
                if (Matrices.row(service, pair[0]) < slots && Matrices.column(service, pair[1]) < slots) {
                    service[pair[0]][pair[1]]++;
                    break;
                }
            }
        }
        return service;
    }
}
