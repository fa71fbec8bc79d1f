// SPDX-License-Identifier: Apache-2.0
package org.slotwise.lambda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.star.SlotsReserved;
import org.slotwise.star.schedule.FrameSchedule;
import org.slotwise.star.schedule.Reservations;

class LambdaAppTest {
    private static final long GIGA = 1_000_000_000;

    /** Two nodes at each of three sites in a row; the second lambda is narrow. */
    private final LambdaWeb row = new LambdaWeb("row", List.of(at("a0", "a"), at("a1", "a"), at("b0", "b"), at("b1", "b"), at("c0", "c"), at("c1", "c")),
            both("a", "b", 10 * GIGA, "b", "c", GIGA / 2), Optional.empty());
    private final LambdaApp app = new LambdaApp(row, List.of());

    /** Lambdas there and back, three arguments each. */
    private static List<Lambda> both(Object... ends) {
        List<Lambda> lambdas = new ArrayList<>();
        for (int k = 0; k < ends.length; k += 3) {
            String a = (String) ends[k];
            String b = (String) ends[k + 1];
            lambdas.add(new Lambda(a, b, (Long) ends[k + 2], 1000));
            lambdas.add(new Lambda(b, a, (Long) ends[k + 2], 1000));
        }
        return lambdas;
    }

    private static LambdaNode at(String name, String site) {
        return new LambdaNode(name, Optional.of(site), GIGA, GIGA);
    }

    private static Demand demand(String session, int source, int sink, long wantedBps) {
        return new Demand(session, source, sink, wantedBps == 0 ? OptionalLong.empty() : OptionalLong.of(wantedBps), 1, OptionalLong.empty(), OptionalLong.empty());
    }

    private static Demand inTime(String session, int source, int sink, long bytes, long deadlineMs) {
        return new Demand(session, source, sink, OptionalLong.empty(), 1, OptionalLong.of(bytes), OptionalLong.of(deadlineMs));
    }

    private double rate(String session) {
        Grants grants = app.view().grants();
        for (int place = 0; place < grants.demands().size(); place++) {
            if (grants.demands().get(place).session().equals(session)) {
                return grants.rateBps(place);
            }
        }
        throw new AssertionError("no session " + session);
    }

    @Test
    void sessionsShareWhatTheyCrossAndAreTold() {
        app.onEvent(0, demand("long", 0, 4, 0));
        assertEquals(GIGA / 2.0, rate("long"));
        app.onEvent(0, demand("short", 2, 5, 0));
        app.onEvent(0, demand("other", 0, 3, 0));
        assertArrayEquals(new double[] {GIGA / 4.0, GIGA / 4.0, 3 * GIGA / 4.0}, new double[] {rate("long"), rate("short"), rate("other")}, 1e-3);
        Grants grants = app.view().grants();
        assertEquals(List.of(Optional.of("b to c"), Optional.of("a0 up"), Optional.of("b to c")),
                List.of(grants.limitedBy(0), grants.limitedBy(1), grants.limitedBy(2)));
        assertEquals(Optional.empty(), grants.refuted());
        // Changes, and leaves.
        app.onEvent(0, demand("short", 2, 5, GIGA / 10));
        assertEquals(0.4 * GIGA, rate("long"), 1e-3);
        assertEquals(Optional.empty(), app.view().grants().limitedBy(2));
        app.onEvent(0, new SessionLeft("short"));
        app.onEvent(0, new SessionLeft("nobody"));
        assertEquals(GIGA / 2.0, rate("long"), 1e-3);
        assertEquals(Set.of(), app.orders());
        assertTrue(app.nextDeadlineNs().isEmpty());
    }

    @Test
    void aDeadlineIsALeastRateThatIsRefusedIfItCannotBeKept() {
        // 12.5 MB in 0.5 s: 200 Mb/s, with 400 others there.
        app.onEvent(0, inTime("soon", 0, 4, 12_500_000, 500));
        for (int k = 0; k < 400; k++) {
            app.onEvent(0, demand("s" + k, 1, 5, 0));
        }
        assertEquals(0.2 * GIGA, rate("soon"), 1e-3);
        assertEquals(0.3 * GIGA / 400, rate("s7"), 1e-3);
        Demand tooMuch = inTime("more", 2, 5, 25_000_000, 500);
        assertEquals("by its deadline it needs 400000000 b/s, and of 'b to c' 300000000 are not promised to others",
                LambdaApp.lacking(app.view(), tooMuch).orElseThrow());
        app.onEvent(0, tooMuch);
        assertEquals(1, app.view().refused());
        // More than any number of b/s, which is not said to be more than the rate that nobody said.
        Demand most = inTime("most", 2, 5, Demand.MAX_BYTES, 1);
        assertTrue(LambdaApp.lacking(app.view(), most).orElseThrow().startsWith("by its deadline it needs 92233720368547758"));
        assertEquals(401, app.view().grants().demands().size());
        // In its own place it has its own part.
        assertEquals(Optional.empty(), LambdaApp.lacking(app.view(), inTime("soon", 0, 4, 31_250_000, 500)));
    }

    @Test
    void siteWithoutALambdaAndRoomForNoMore() {
        LambdaWeb apart = new LambdaWeb("apart", List.of(at("a0", "a"), at("b0", "b"), at("c0", "c")), both("a", "b", GIGA), Optional.empty());
        LambdaApp lonely = new LambdaApp(apart, List.of());
        assertEquals("no lambdas lead from 'a0' to 'c0'", LambdaApp.lacking(lonely.view(), demand("x", 0, 2, 0)).orElseThrow());
        for (int k = 0; k <= LambdaApp.MAX_SESSIONS; k++) {
            lonely.onEvent(0, demand("s" + k, 0, 1, 0));
        }
        assertEquals(LambdaApp.MAX_SESSIONS, lonely.view().grants().demands().size());
        assertTrue(LambdaApp.lacking(lonely.view(), demand("x", 0, 1, 0)).orElseThrow().startsWith("there are 4096 sessions already"));
        assertEquals(Optional.empty(), LambdaApp.lacking(lonely.view(), demand("s0", 1, 0, 0)));
    }

    @Test
    void waysHaveTheLeastDelayThenFewLambdasThenTheFirst() {
        List<Lambda> lambdas = List.of(new Lambda("a", "c", GIGA, 5000), new Lambda("a", "b", GIGA, 1000), new Lambda("b", "c", GIGA, 1000),
                new Lambda("a", "c", GIGA, 2000), new Lambda("a", "c", 2 * GIGA, 2000), new Lambda("c", "a", GIGA, 1000));
        LambdaWeb web = new LambdaWeb("x", List.of(at("a0", "a"), at("c0", "c"), at("b0", "b")), lambdas, Optional.empty());
        assertEquals(List.of(0, 6 + 3, 3), web.linksOf(0, 1).orElseThrow());
        assertEquals(List.of(2, 6 + 5, 6 + 1, 5), web.linksOf(1, 2).orElseThrow());
        assertEquals(List.of(4, 6 + 2, 6 + 5, 1), web.linksOf(2, 0).orElseThrow());
    }

    @Test
    void sessionsOfTheBeginningAreToldAtOnce() {
        LambdaApp slotted = new LambdaApp(star(2, 16, 1_000_000), List.of(demand("one", 0, 1, 3_000_000)));
        assertEquals(OptionalLong.of(0), slotted.nextDeadlineNs());
        assertEquals(1, slotted.onEvent(0, new Event.DeadlineReached()).size());
        assertEquals("there are two sessions 'one'", assertThrows(IllegalArgumentException.class,
                () -> new LambdaApp(star(2, 16, 1_000_000), List.of(demand("one", 0, 1, 0), demand("one", 1, 0, 0)))).getMessage());
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new LambdaApp(row, List.of(inTime("x", 0, 4, 125_000_000, 1000)))).getMessage()
                .startsWith("session 'x': by its deadline it needs 1000000000 b/s, and of 'b to c' 500000000 are not"));
    }

    private static LambdaWeb star(int edges, int slots, long slotBps) {
        List<LambdaNode> nodes = new ArrayList<>();
        for (int edge = 0; edge < edges; edge++) {
            nodes.add(new LambdaNode("e" + edge, Optional.empty(), slots * slotBps, slots * slotBps));
        }
        return new LambdaWeb("star", nodes, List.of(), Optional.of(new SlotRates(slots, slotBps)));
    }

    @Test
    void aStarIsToldOnceOfAllThatHappensAtOneTime() {
        LambdaApp slotted = new LambdaApp(star(3, 16, 1_000_000), List.of());
        assertEquals(Set.of("star"), slotted.orders());
        assertEquals(List.of(), slotted.onEvent(5, demand("one", 0, 1, 0)));
        assertEquals(List.of(), slotted.onEvent(5, demand("two", 0, 2, 0)));
        assertEquals(OptionalLong.of(5), slotted.nextDeadlineNs());
        List<Command> told = slotted.onEvent(5, new Event.DeadlineReached());
        assertArrayEquals(new int[][] {{0, 8, 8}, {0, 0, 0}, {0, 0, 0}}, ((SlotsReserved) ((Command.ToApp) told.get(0)).order()).slots());
        assertTrue(slotted.nextDeadlineNs().isEmpty());
        slotted.onEvent(6, demand("one", 0, 1, 8_000_000));
        assertEquals(List.of(), slotted.onEvent(6, new Event.DeadlineReached()));
        slotted.onEvent(7, new SessionLeft("two"));
        slotted.onEvent(7, new SessionLeft("one"));
        told = slotted.onEvent(7, new Event.DeadlineReached());
        assertArrayEquals(new int[3][3], ((SlotsReserved) ((Command.ToApp) told.get(0)).order()).slots());
    }

    /** Bound 'slots' of our own for the dissertation's X.3.C: at most 2 slots off, and no collision; rates here are the oracle's. */
    @Test
    void slotsOfEightEdgesAreLessThanOneOffTheirRatesAndNeverCollide() {
        Random random = new Random(20261124);
        for (int network = 0; network < 200; network++) {
            LambdaApp slotted = new LambdaApp(star(8, 128, 1_000_000), List.of());
            for (int k = 1 + random.nextInt(40); k > 0; k--) {
                int source = random.nextInt(8);
                slotted.onEvent(0, demand("s" + k, source, (source + 1 + random.nextInt(7)) % 8, random.nextInt(2) * (1 + random.nextInt(128_000_000))));
            }
            Grants grants = slotted.view().grants();
            assertEquals(Optional.empty(), grants.refuted());
            double[][] exact = new double[8][8];
            for (int k = 0; k < grants.demands().size(); k++) {
                exact[grants.demands().get(k).source()][grants.demands().get(k).sink()] += grants.rateBps(k) / 1_000_000;
            }
            int[][] slots = grants.slots().orElseThrow();
            FrameSchedule schedule = new Reservations(slots, 128).applyTo(FrameSchedule.empty(8, 128), FrameSchedule.empty(8, 128));
            int[][] service = schedule.service();
            for (int i = 0; i < 8; i++) {
                for (int j = 0; j < 8; j++) {
                    assertEquals(exact[i][j], slots[i][j], 1);
                    // Of what is left of the frame, spare connections beyond.
                    assertTrue(service[i][j] >= slots[i][j]);
                }
            }
        }
    }

    @Test
    void whatIsNoNetworkIsRefusedAtItsPlace() {
        assertEquals("nodes[1].name", place(() -> new LambdaWeb("x", List.of(at("a", "s"), at("a", "s")), both("s", "t", GIGA), Optional.empty())));
        assertEquals("nodes[0]", place(() -> new LambdaWeb("x", List.of(at("a", "s"), at("b", "s")), List.of(), Optional.empty())));
        assertEquals("nodes", place(() -> new LambdaWeb("x", List.of(at("a", "s")), both("s", "t", GIGA), Optional.empty())));
        assertEquals("lambdas[0].to", place(() -> new LambdaWeb("x", List.of(at("a", "s"), at("b", "s")), both("s", "s", GIGA), Optional.empty())));
        assertEquals("lambdas", place(() -> new LambdaWeb("x", List.of(at("a", "s"), at("b", "s")), both("s", "t", GIGA),
                Optional.of(new SlotRates(16, 1_000_000)))));
        for (Runnable wrong : List.<Runnable>of(() -> demand("", 0, 1, 0), () -> demand("-x", 0, 1, 0), () -> demand("a b", 0, 1, 0), () -> demand("x", 1, 1, 0),
                () -> demand("x", 0, 1, -1), () -> inTime("x", 0, 1, 0, 5), () -> inTime("x", 0, 1, 5, Demand.MAX_DEADLINE_MS + 1),
                () -> new Demand("x", 0, 1, OptionalLong.of(1000), 1, OptionalLong.of(1000), OptionalLong.of(1)),
                () -> new Demand("x", 0, 1, OptionalLong.empty(), 0, OptionalLong.empty(), OptionalLong.empty()),
                () -> new Demand("x", 0, 1, OptionalLong.empty(), 1, OptionalLong.empty(), OptionalLong.of(5)))) {
            assertThrows(IllegalArgumentException.class, wrong::run);
        }
    }

    private static String place(Runnable wrong) {
        return assertThrows(InvalidNetworkException.class, wrong::run).where();
    }
}
