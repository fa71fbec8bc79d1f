// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class EdgeColouringTest {
    private static FrameSchedule decompose(int[][] service, FrameSchedule before, SlotOrder order) {
        return new EdgeColouring(before.edges(), before.slots(), order)
                .decompose(new Square(before.edges()).flatten(service), before);
    }

    @Property(seed = "20260201")
    void everyAdmissibleServiceIsServed(@ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll @IntRange(min = 1, max = 140) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        int[][] service = admissible(edges, slots, random);
        FrameSchedule schedule = decompose(service, FrameSchedule.empty(edges, slots), order);
        checkServes(schedule, service);
    }

    @Property(seed = "20260202")
    void warmResultServesTheNewServiceToo(@ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll @IntRange(min = 1, max = 140) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        FrameSchedule schedule = FrameSchedule.empty(edges, slots);
        EdgeColouring warm = new EdgeColouring(edges, slots, order);
        EdgeColouring again = new EdgeColouring(edges, slots, order);
        Square square = new Square(edges);
        for (int round = 0; round < 4; round++) {
            int[][] service = admissible(edges, slots, random);
            FrameSchedule next = warm.decompose(square.flatten(service), schedule);
            assertEquals(next, again.decompose(square.flatten(service), schedule), "not deterministic");
            checkServes(decompose(service, schedule, order), service);
            schedule = next;
            checkServes(schedule, service);
        }
    }

    @Property(seed = "20260203")
    void unchangedServiceKeepsTheSchedule(@ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll @IntRange(min = 1, max = 70) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        int[][] service = admissible(edges, slots, random);
        for (int i = 0; i < edges; i++) {
            service[i][random.nextInt(edges)] = 0;
        }
        FrameSchedule before = decompose(service, FrameSchedule.empty(edges, slots), order);
        assertEquals(before, decompose(service, before, order));
    }

    @Property(seed = "20260204")
    void noPairKeepsSpareSlotsThatOthersLack(@ForAll @IntRange(min = 3, max = 9) int edges,
            @ForAll @IntRange(min = 20, max = 70) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        FrameSchedule busy = decompose(admissible(edges, slots, random), FrameSchedule.empty(edges, slots), order);
        int[][] idle = decompose(new int[edges][edges], busy, order).service();
        for (int i = 0; i < edges; i++) {
            for (int j = 0; j < edges; j++) {
                assertTrue(idle[i][j] <= 2 + slots / (edges - 1));
            }
        }
    }

    @Property(seed = "20261201")
    void schedulesAreThoseOfThePlainAlgorithm(@ForAll @IntRange(min = 2, max = 12) int edges,
            @ForAll @IntRange(min = 1, max = 140) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        EdgeColouring colouring = new EdgeColouring(edges, slots, order);
        PlainColouring plain = new PlainColouring(edges, slots, order);
        FrameSchedule schedule = FrameSchedule.empty(edges, slots);
        int[][] service = admissible(edges, slots, random);
        for (int round = 0; round < 6; round++) {
            FrameSchedule expected = plain.decompose(service, schedule);
            schedule = colouring.decompose(new Square(edges).flatten(service), schedule);
            assertEquals(expected, schedule);
            if (random.nextInt(4) == 0) {
                // Not the schedule that was returned last.
                int dark = random.nextInt(edges);
                schedule = schedule.without(edge -> edge == dark);
            }
            service = random.nextBoolean() ? admissible(edges, slots, random) : without(service, random);
        }
    }

    /** A service of which some pairs have less and some nothing any more. */
    private static int[][] without(int[][] service, Random random) {
        int[][] less = Arrays.stream(service).map(int[]::clone).toArray(int[][]::new);
        for (int[] row : less) {
            for (int j = 0; j < row.length; j++) {
                row[j] = random.nextInt(3) > 0 ? row[j] : random.nextInt(row[j] + 1);
            }
        }
        return less;
    }

    @Test
    void idleFrameIsTheFixedRotation() {
        int[][] service = decompose(new int[4][4], FrameSchedule.empty(4, 15), SlotOrder.SPREAD).service();
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                assertEquals(i == j ? 0 : 5, service[i][j]);
            }
        }
    }

    @Test
    void oneUnitMoreTouchesOnlyItsLines() {
        int[][] service = new int[4][4];
        service[0][1] = 8;
        service[2][3] = 8;
        service[1][0] = 8;
        FrameSchedule before = decompose(service, FrameSchedule.empty(4, 16), SlotOrder.SPREAD);
        int more = before.service()[0][1] + 1;
        service[0][1] = more;
        FrameSchedule after = decompose(service, before, SlotOrder.SPREAD);
        checkServes(after, service);
        int different = 0;
        for (int slot = 0; slot < 16; slot++) {
            for (int input = 0; input < 4; input++) {
                different += before.output(slot, input) == after.output(slot, input) ? 0 : 1;
            }
        }
        assertTrue(different <= 4, () -> "one unit changed more than its slot");
    }

    @Test
    void pathIsSwappedWhereNoSlotIsFreeAtBothEnds() {
        // Edge 0 can only send in slot 1, edge 3 only receive in slot 0.
        FrameSchedule before = new FrameSchedule.Builder(4, 2).connect(0, 0, 1).connect(1, 2, 3).build();
        int[][] service = new int[4][4];
        service[0][1] = 1;
        service[2][3] = 1;
        service[0][3] = 1;
        checkServes(decompose(service, before, SlotOrder.SPREAD), service);
    }

    @Test
    void ofSeveralPathsTheShortestIsSwapped() {
        // Edge 0 can send in slots 1 and 2, edge 3 receive in slot 0. Edge 1 can go there with its slot 2 at once; with edge 2's
        // slot 1 its connection to edge 0 would have to move as well.
        FrameSchedule before = new FrameSchedule.Builder(4, 3)
                .connect(0, 0, 1).connect(0, 2, 0).connect(1, 2, 3).connect(2, 1, 3).build();
        int[][] service = before.service();
        service[0][3] = 1;
        FrameSchedule after = decompose(service, before, SlotOrder.CONTIGUOUS);
        checkServes(after, service);
        assertEquals(List.of(0, 3, 3), List.of(after.output(0, 2), after.output(1, 2), after.output(2, 0)));
        assertEquals(3, after.output(0, 1));
    }

    @Property(seed = "20261128", tries = 20)
    void fullFramesOfManyEdgesAreServedFromEmptyAndFromOthers(@ForAll @IntRange(min = 60, max = 70) int edges,
            @ForAll @IntRange(min = 100, max = 140) int slots, @ForAll Random random, @ForAll SlotOrder order) {
        EdgeColouring warm = new EdgeColouring(edges, slots, order);
        FrameSchedule schedule = FrameSchedule.empty(edges, slots);
        for (int round = 0; round < 3; round++) {
            int[][] service = ofPermutations(edges, slots, random);
            checkServes(decompose(service, schedule, order), service);
            schedule = warm.decompose(new Square(edges).flatten(service), schedule);
            checkServes(schedule, service);
        }
    }

    /** Every line is full but where an edge would send to itself. */
    private static int[][] ofPermutations(int edges, int slots, Random random) {
        int[][] service = new int[edges][edges];
        List<Integer> receivers = new ArrayList<>();
        for (int edge = 0; edge < edges; edge++) {
            receivers.add(edge);
        }
        for (int slot = 0; slot < slots; slot++) {
            Collections.shuffle(receivers, random);
            for (int i = 0; i < edges; i++) {
                service[i][receivers.get(i)] += receivers.get(i) == i ? 0 : 1;
            }
        }
        return service;
    }

    @Test
    void spreadKeepsSlotsApartAndContiguousTogether() {
        int[][] service = {{0, 4, 4}, {0, 0, 0}, {0, 0, 0}};
        FrameSchedule empty = FrameSchedule.empty(3, 8);
        assertEquals(List.of(0, 2, 4, 6), slotsOf(decompose(service, empty, SlotOrder.SPREAD)));
        assertEquals(List.of(0, 1, 2, 3), slotsOf(decompose(service, empty, SlotOrder.CONTIGUOUS)));
    }

    @Property(seed = "20260205")
    void ordersArePermutations(@ForAll @IntRange(min = 1, max = 300) int slots, @ForAll SlotOrder order) {
        assertEquals(slots, Arrays.stream(order.slotsOfColours(slots)).distinct().count());
        assertTrue(Arrays.stream(order.slotsOfColours(slots)).allMatch(slot -> slot >= 0 && slot < slots));
    }

    @Test
    void overloadAndNonsenseAreRefused() {
        FrameSchedule empty = FrameSchedule.empty(3, 2);
        for (int[][] bad : List.of(
                new int[][] {{0, 2, 1}, {0, 0, 0}, {0, 0, 0}}, new int[][] {{0, 2, 0}, {0, 0, 0}, {0, 1, 0}},
                new int[][] {{1, 0, 0}, {0, 0, 0}, {0, 0, 0}}, new int[][] {{0, -1, 0}, {0, 0, 0}, {0, 0, 0}},
                new int[][] {{0, Integer.MAX_VALUE, 1}, {0, 0, 0}, {0, 0, 0}})) {
            assertThrows(IllegalArgumentException.class, () -> decompose(bad, empty, SlotOrder.SPREAD));
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

    private static void checkServes(FrameSchedule schedule, int[][] service) {
        Schedules.checkNoCollision(schedule);
        int[][] served = schedule.service();
        for (int i = 0; i < service.length; i++) {
            for (int j = 0; j < service.length; j++) {
                assertTrue(served[i][j] >= service[i][j]);
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
