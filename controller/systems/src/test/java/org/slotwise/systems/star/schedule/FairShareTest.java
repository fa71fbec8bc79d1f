// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.model.CorePorts;
import org.slotwise.systems.star.schedule.FairShare.Share;

class FairShareTest {
    private static final int CAPACITY = 16;
    private static final double EXACT = 1e-4;
    private static final double UNIT = 1L << WaterFill.FRACTION_BITS;

    @Provide
    Arbitrary<int[][]> requests() {
        return Matrices.square(Arbitraries.integers().between(2, 6),
                Arbitraries.oneOf(Arbitraries.integers().between(0, 6), Arbitraries.integers().between(0, 100)));
    }

    @Provide
    Arbitrary<int[][]> smallRequests() {
        return Matrices.square(Arbitraries.integers().between(2, 4),
                Arbitraries.oneOf(Arbitraries.integers().between(0, 6), Arbitraries.integers().between(0, CAPACITY)));
    }

    private static int[][] allocate(int[][] request, Share share) {
        return allocate(request, share, PairWeights.ALIKE);
    }

    private static int[][] allocate(int[][] request, Share share, PairWeights weights) {
        int n = request.length;
        return new Square(n).unflatten(new FairShare(n, CAPACITY, share, weights.forEdges(n), true).allocate(request));
    }

    private static PairWeights weights(String text) {
        try {
            return PairWeights.parse(text);
        } catch (InvalidSettingsException e) {
            throw new AssertionError(e);
        }
    }

    @Property(seed = "20260101")
    void noLineIsOverCapacityAndNobodySendsToItself(@ForAll("requests") int[][] request, @ForAll Share share) {
        int[][] service = allocate(request, share);
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
        int[][] service = allocate(request, share);
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                assertTrue(service[i][j] >= request[i][j]);
            }
        }
    }

    @Property(seed = "20261202")
    void idlePairsGetASlotInTheOrderOfTheRotation(@ForAll("requests") int[][] request) {
        int n = request.length;
        int[][] expected = new Square(n).unflatten(
                new FairShare(n, CAPACITY, Share.EQUAL, PairWeights.ALIKE.forEdges(n), false).allocate(request));
        for (int distance = 1; distance < n; distance++) {
            for (int i = 0; i < n; i++) {
                int j = (i + distance) % n;
                if (expected[i][j] == 0 && Matrices.row(expected, i) < CAPACITY && Matrices.column(expected, j) < CAPACITY) {
                    expected[i][j] = 1;
                }
            }
        }
        assertArrayEquals(expected, allocate(request, Share.EQUAL));
    }

    /** A weight of a pair that there is not changes nothing, but such frames are looked at as a whole. */
    @Property(seed = "20261203", tries = 200)
    void aFrameThatIsMostlyTheOneBeforeGetsWhatItWouldGetAnyway(@ForAll Random random) {
        int n = 6;
        Square square = new Square(n);
        FairShare some = new FairShare(n, CAPACITY, Share.EQUAL, PairWeights.ALIKE.forEdges(n), true);
        FairShare whole = new FairShare(n, CAPACITY, Share.EQUAL, weights("0>0=2").forEdges(n), true);
        int[][] request = new int[n][n];
        for (int frame = 0; frame < 400; frame++) {
            if (frame % 100 == 10) {
                // Not all fits before; afterwards lines are nearly full, so that those who ask for nothing decide.
                Arrays.stream(request).forEach(row -> Arrays.fill(row, 0));
            }
            int most = frame % 100 == 0 ? 2 * CAPACITY : 5;
            request[random.nextInt(n)][random.nextInt(n)] = random.nextInt(most + 2) - 1;
            assertArrayEquals(square.unflatten(whole.allocate(request)), square.unflatten(some.allocate(request)));
        }
    }

    @Property(seed = "20260103", tries = 150)
    void sharesAreThoseOfALinearProgram(@ForAll("smallRequests") int[][] request, @ForAll Random random,
            @ForAll boolean weighted) {
        int n = request.length;
        int[][] weight = new int[n][n];
        for (int[] row : weight) {
            Arrays.setAll(row, j -> weighted ? 1 + random.nextInt(5) : 1);
        }
        for (int i = 0; i < n; i++) {
            request[i][i] = 0;
        }
        double[][] expected = MaxMinByLinearProgram.solve(request, weight, CAPACITY);
        Square square = new Square(n);
        int[] room = new int[n];
        Arrays.fill(room, CAPACITY);
        long[] amount = new WaterFill(CorePorts.ofItsOwn(n), CAPACITY).fill(
                square.flatten(request), weighted ? square.flatten(weight) : null, room, room);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                assertEquals(expected[i][j], amount[square.entry(i, j)] / UNIT, EXACT, "pair " + i + " -> " + j);
            }
        }
    }

    @Property(seed = "20260104", tries = 150)
    void wholeSlotsAreTheExactShareRoundedDownOrMore(@ForAll("smallRequests") int[][] request) {
        int n = request.length;
        int[][] alike = new int[n][n];
        for (int i = 0; i < n; i++) {
            Arrays.fill(alike[i], 1);
            request[i][i] = 0;
        }
        double[][] exact = MaxMinByLinearProgram.solve(request, alike, CAPACITY);
        int[][] service = allocate(request, Share.EQUAL);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                assertTrue(service[i][j] >= Math.floor(exact[i][j] - EXACT));
            }
        }
    }

    @Property(seed = "20260105")
    void noSlotIsLeftWhileAPairWithBacklogCouldHaveIt(@ForAll("requests") int[][] request, @ForAll Share share) {
        int[][] service = allocate(request, share);
        for (int i = 0; i < request.length; i++) {
            for (int j = 0; j < request.length; j++) {
                boolean room = Matrices.row(service, i) < CAPACITY && Matrices.column(service, j) < CAPACITY;
                assertTrue(i == j || !room || service[i][j] >= Math.max(1, request[i][j]));
            }
        }
    }

    @Property(seed = "20260106")
    void sameRequestsSameServices(@ForAll("requests") int[][] request, @ForAll Share share) {
        int n = request.length;
        FairShare first = new FairShare(n, CAPACITY, share, PairWeights.ALIKE.forEdges(n), true);
        FairShare second = new FairShare(n, CAPACITY, share, PairWeights.ALIKE.forEdges(n), true);
        for (int frame = 0; frame < 3; frame++) {
            assertArrayEquals(first.allocate(request), second.allocate(request));
        }
    }

    @Property(seed = "20260107")
    void overManyFramesEachPairGetsItsExactShare(@ForAll("smallRequests") int[][] request) {
        int n = request.length;
        int[][] alike = new int[n][n];
        for (int i = 0; i < n; i++) {
            Arrays.fill(alike[i], 1);
            request[i][i] = 0;
        }
        double[][] exact = MaxMinByLinearProgram.solve(request, alike, CAPACITY);
        Square square = new Square(n);
        FairShare fair = new FairShare(n, CAPACITY, Share.EQUAL, PairWeights.ALIKE.forEdges(n), true);
        int frames = 60;
        double[][] mean = new double[n][n];
        for (int frame = 0; frame < frames; frame++) {
            int[] service = fair.allocate(request);
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < n; j++) {
                    mean[i][j] += (double) service[square.entry(i, j)] / frames;
                }
            }
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                double share = exact[i][j];
                assertTrue(mean[i][j] > share - 0.3, () -> "too little in the long run");
            }
        }
    }

    @Test
    void sharesOfLessThanASlotTakeTurns() {
        int senders = 20;
        int[][] request = new int[senders + 1][senders + 1];
        for (int i = 0; i < senders; i++) {
            request[i][senders] = 1;
        }
        FairShare fair = new FairShare(senders + 1, 10, Share.EQUAL, PairWeights.ALIKE.forEdges(senders + 1), true);
        Square square = new Square(senders + 1);
        int[] slots = new int[senders];
        for (int frame = 0; frame < 40; frame++) {
            int[] service = fair.allocate(request);
            for (int i = 0; i < senders; i++) {
                slots[i] += service[square.entry(i, senders)];
            }
        }
        for (int i = 0; i < senders; i++) {
            assertEquals(20, slots[i], 1, "slots of sender " + i);
        }
    }

    @Test
    void hotPairGetsAllThatOthersLeave() {
        int[][] request = {{0, 1, 1, 1}, {1, 0, 90, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}};
        int[][] service = allocate(request, Share.EQUAL);
        assertEquals(14, service[1][2]);
        assertEquals(1, service[1][0]);
        assertEquals(1, service[3][2]);
    }

    @Test
    void proportionFollowsTheRequest() {
        int[][] request = {{0, 30, 10}, {0, 0, 0}, {0, 0, 0}};
        assertEquals(12, allocate(request, Share.PROPORTIONAL)[0][1]);
        assertEquals(8, allocate(request, Share.EQUAL)[0][1]);
    }

    @Test
    void weightsDivideWhatIsContended() {
        int[][] request = {{0, 90, 90}, {0, 0, 0}, {0, 0, 0}};
        assertEquals(12, allocate(request, Share.EQUAL, weights("0>1=3"))[0][1]);
        assertEquals(4, allocate(request, Share.EQUAL, weights("*>1=1, *>2=3"))[0][1]);
    }

    @Test
    void firstClassIsServedBeforeAllOthers() {
        int[][] request = {{0, 90, 14}, {0, 0, 0}, {0, 0, 0}};
        int[][] service = allocate(request, Share.EQUAL, weights("0>2=first"));
        assertEquals(14, service[0][2]);
        assertEquals(2, service[0][1]);
    }

    @Test
    void idlePairsHaveASlotWhereThereIsRoom() {
        assertArrayEquals(new int[][] {{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}},
                allocate(new int[4][4], Share.EQUAL));
    }

    @Test
    void absurdRequestsDoNotOverflow() {
        int[][] request = {{7, Integer.MAX_VALUE, 1}, {Integer.MAX_VALUE, 0, Integer.MIN_VALUE}, {-1, 0, 0}};
        for (Share share : Share.values()) {
            int[][] service = allocate(request, share);
            assertTrue(service[0][1] >= 8 && service[1][0] >= 8);
        }
    }
}
