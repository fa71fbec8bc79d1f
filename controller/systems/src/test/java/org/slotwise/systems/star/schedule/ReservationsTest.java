// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Random;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** What is reserved is there whatever schedules the rest. */
class ReservationsTest {
    private static final int SLOTS = 16;

    @Provide
    Arbitrary<SchedulerKind> kinds() {
        return Kinds.any();
    }

    /** Line sums at most the slots of a frame. */
    private static int[][] reserved(int edges, Random random) {
        int[][] reserved = new int[edges][edges];
        for (int k = 0; k < 3 * edges; k++) {
            int i = random.nextInt(edges);
            int j = random.nextInt(edges);
            int room = SLOTS - Math.max(Matrices.row(reserved, i), Matrices.column(reserved, j));
            reserved[i][j] += i == j ? 0 : random.nextInt(room + 1);
        }
        return reserved;
    }

    private static int[][] demand(int edges, Random random) {
        int[][] demand = new int[edges][edges];
        for (int[] row : demand) {
            for (int j = 0; j < edges; j++) {
                row[j] = random.nextInt(2) * random.nextInt(2 * SLOTS);
            }
        }
        return demand;
    }

    @Property(seed = "20261124")
    void everyPairHasWhatIsReservedForIt(@ForAll("kinds") SchedulerKind kind, @ForAll @IntRange(min = 2, max = 9) int edges,
            @ForAll Random random) throws InvalidSettingsException {
        int[][] reserved = reserved(edges, random);
        Reservations reservations = new Reservations(reserved, SLOTS);
        Scheduler scheduler = kind.create(kind.completeSettings(Map.of()));
        FrameSchedule active = FrameSchedule.empty(edges, SLOTS);
        for (int frame = 0; frame < 4; frame++) {
            int[][] demand = demand(edges, random);
            reservations.raise(demand);
            active = reservations.applyTo(scheduler.schedule(demand, active), active);
            Schedules.checkNoCollision(active);
            int[][] service = active.service();
            for (int i = 0; i < edges; i++) {
                for (int j = 0; j < edges; j++) {
                    assertTrue(service[i][j] >= reserved[i][j]);
                }
            }
        }
    }

    @Test
    void whatIsAlreadyThereIsLeftAlone() throws InvalidSettingsException {
        int[][] reserved = {{0, 4, 0}, {0, 0, 10}, {0, 0, 0}};
        Reservations reservations = new Reservations(reserved, SLOTS);
        int[][] demand = new int[3][3];
        reservations.raise(demand);
        assertEquals(10, demand[1][2]);
        FrameSchedule schedule = Kinds.FAIR.create(Kinds.FAIR.completeSettings(Map.of())).schedule(demand, FrameSchedule.empty(3, SLOTS));
        assertSame(schedule, reservations.applyTo(schedule, schedule));
    }

    @Test
    void othersKeepTheirSharesOfTheRest() {
        // Edge 0 has 12 of 16 slots to edge 1 reserved; who else sends to edge 1, and to whom else edge 0 sends, has the other four.
        int[][] reserved = {{0, 12, 0}, {0, 0, 0}, {0, 0, 0}};
        FrameSchedule.Builder before = new FrameSchedule.Builder(3, SLOTS);
        for (int slot = 0; slot < SLOTS; slot++) {
            before.connect(slot, 0, 2).connect(slot, 2, 1).connect(slot, 1, 0);
        }
        int[][] service = new Reservations(reserved, SLOTS).applyTo(before.build(), before.build()).service();
        assertEquals(12, service[0][1]);
        assertEquals(4, service[0][2]);
        assertEquals(4, service[2][1]);
        assertEquals(16, service[1][0]);
    }

    @Test
    void whatDoesNotFitIsRefused() {
        for (int[][] wrong : new int[][][] {{{0, 17}, {0, 0}}, {{0, -1}, {0, 0}}, {{1, 0}, {0, 0}}, {{0, 1}, {0}},
            {{0, 9, 8}, {0, 0, 0}, {0, 0, 0}}, {{0, 0, 9}, {0, 0, 8}, {0, 0, 0}}}) {
            assertThrows(IllegalArgumentException.class, () -> new Reservations(wrong, SLOTS));
        }
    }
}
