// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import org.junit.jupiter.api.Test;
import org.slotwise.core.schedule.FairShare.Share;

class FairShareTest {
    private static final int CAPACITY = 16;
    /** Levels are cut to whole units once a round; a line is full up to that. */
    private static final long TOLERANCE = 1 << 10;

    @Provide
    Arbitrary<int[][]> requests() {
        return Matrices.square(Arbitraries.integers().between(2, 6),
                Arbitraries.oneOf(Arbitraries.integers().between(0, 6), Arbitraries.integers().between(0, 100)));
    }

    @Property(seed = "20260101")
    void noLineIsOverCapacityAndNobodySendsToItself(@ForAll("requests") int[][] request, @ForAll Share share) {
        int[][] service = FairShare.allocate(request, CAPACITY, share);
        for (int i = 0; i < service.length; i++) {
            assertEquals(0, service[i][i]);
            assertTrue(Matrices.row(service, i) <= CAPACITY);
            assertTrue(Matrices.column(service, i) <= CAPACITY);
        }
    }

    @Property(seed = "20260102")
    void whatFitsIsGrantedWhole(@ForAll("requests") int[][] request, @ForAll Share share) {
        for (int i = 0; i < request.length; i++) {
            request[i][i] = 0;
        }
        for (int i = 0; i < request.length; i++) {
            if (Matrices.row(request, i) > CAPACITY || Matrices.column(request, i) > CAPACITY) {
                return;
            }
        }
        int[][] service = FairShare.allocate(request, CAPACITY, share);
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                assertTrue(service[i][j] >= request[i][j]);
            }
        }
    }

    @Property(seed = "20260103")
    void equalSharesAreMaxMinFair(@ForAll("requests") int[][] request) {
        Reference exact = Reference.maxMin(request, CAPACITY);
        long[][] level = FairShare.waterFill(withoutDiagonal(request), CAPACITY, Share.EQUAL);
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                long expected = exact.scaled(i, j, FairShare.FRACTION_BITS);
                assertTrue(Math.abs(level[i][j] - expected) <= TOLERANCE,
                        () -> "level of a pair is not the max-min one");
            }
        }
    }

    @Property(seed = "20260104")
    void wholeSlotsAreWithinOneOfTheExactShareOrMore(@ForAll("requests") int[][] request) {
        Reference exact = Reference.maxMin(request, CAPACITY);
        int[][] service = FairShare.allocate(request, CAPACITY, Share.EQUAL);
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                assertTrue(service[i][j] >= exact.scaled(i, j, 0));
            }
        }
    }

    @Property(seed = "20260105")
    void noSlotIsIdleWhileSomeoneHasBacklog(@ForAll("requests") int[][] request, @ForAll Share share) {
        int[][] service = FairShare.allocate(request, CAPACITY, share);
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                boolean room = Matrices.row(service, i) < CAPACITY && Matrices.column(service, j) < CAPACITY;
                assertTrue(i == j || !room);
            }
        }
    }

    @Property(seed = "20260106")
    void sameRequestSameService(@ForAll("requests") int[][] request, @ForAll Share share) {
        assertArrayEquals(FairShare.allocate(request, CAPACITY, share),
                FairShare.allocate(request, CAPACITY, share));
    }

    @Test
    void hotPairGetsAllThatOthersLeave() {
        int[][] request = {{0, 1, 1, 1}, {1, 0, 90, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}};
        int[][] service = FairShare.allocate(request, CAPACITY, Share.EQUAL);
        assertEquals(14, service[1][2]);
        assertEquals(1, service[1][0]);
        assertEquals(1, service[3][2]);
    }

    @Test
    void proportionFollowsTheRequest() {
        int[][] request = {{0, 30, 10}, {0, 0, 0}, {0, 0, 0}};
        assertEquals(12, FairShare.allocate(request, CAPACITY, Share.PROPORTIONAL)[0][1]);
        assertEquals(8, FairShare.allocate(request, CAPACITY, Share.EQUAL)[0][1]);
    }

    @Test
    void spareSlotsGoEvenlyToIdlePairs() {
        assertArrayEquals(new int[][] {{0, 6, 5, 5}, {5, 0, 6, 5}, {5, 5, 0, 6}, {6, 5, 5, 0}},
                FairShare.allocate(new int[4][4], CAPACITY, Share.EQUAL));
    }

    @Test
    void absurdRequestsDoNotOverflow() {
        int[][] request = {{7, Integer.MAX_VALUE, 1}, {Integer.MAX_VALUE, 0, Integer.MIN_VALUE}, {-1, 0, 0}};
        for (Share share : Share.values()) {
            int[][] service = FairShare.allocate(request, CAPACITY, share);
            assertTrue(service[0][1] >= 8 && service[1][0] >= 8);
        }
    }

    private static int[][] withoutDiagonal(int[][] request) {
        int[][] copy = new int[request.length][];
        for (int i = 0; i < request.length; i++) {
            copy[i] = request[i].clone();
            copy[i][i] = 0;
        }
        return copy;
    }
}
