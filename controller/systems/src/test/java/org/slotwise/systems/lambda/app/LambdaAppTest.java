// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

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
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.systems.lambda.model.Lambda;
import org.slotwise.systems.lambda.model.LambdaNode;
import org.slotwise.systems.lambda.model.LambdaWeb;
import org.slotwise.systems.lambda.model.SlotRates;
import org.slotwise.systems.shared.model.SlotsReserved;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.schedule.Reservations;

class LambdaAppTest {
    private static final long GIGA = 1_000_000_000;
    private static final long SECOND = 1_000_000_000;

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

    private static Event.Order put(Demand demand) {
        return Event.Call.of((LambdaApp app) -> app.put(demand));
    }

    private static Event.Order leave(String session) {
        return Event.Call.of((LambdaApp app) -> app.remove(session));
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
        app.onEvent(0, put(demand("long", 0, 4, 0)));
        assertEquals(GIGA / 2.0, rate("long"));
        app.onEvent(0, put(demand("short", 2, 5, 0)));
        app.onEvent(0, put(demand("other", 0, 3, 0)));
        assertArrayEquals(new double[] {GIGA / 4.0, GIGA / 4.0, 3 * GIGA / 4.0}, new double[] {rate("long"), rate("short"), rate("other")}, 1e-3);
        Grants grants = app.view().grants();
        assertEquals(List.of(Optional.of("b to c"), Optional.of("a0 up"), Optional.of("b to c")),
                List.of(grants.limitedBy(0), grants.limitedBy(1), grants.limitedBy(2)));
        assertEquals(Optional.empty(), grants.refuted());
        // Changes, and leaves.
        app.onEvent(0, put(demand("short", 2, 5, GIGA / 10)));
        assertEquals(0.4 * GIGA, rate("long"), 1e-3);
        assertEquals(Optional.empty(), app.view().grants().limitedBy(2));
        app.onEvent(0, leave("short"));
        app.onEvent(0, leave("nobody"));
        assertEquals(GIGA / 2.0, rate("long"), 1e-3);
        assertEquals(Set.of(), app.orders());
        assertTrue(app.nextDeadlineNs().isEmpty());
    }

    @Test
    void aDeadlineIsALeastRateThatIsRefusedIfItCannotBeKept() {
        // 12.5 MB in 0.5 s: 200 Mb/s, with 400 others there.
        app.onEvent(0, put(inTime("soon", 0, 4, 12_500_000, 500)));
        for (int k = 0; k < 400; k++) {
            app.onEvent(0, put(demand("s" + k, 1, 5, 0)));
        }
        assertEquals(0.2 * GIGA, rate("soon"), 1e-3);
        assertEquals(0.3 * GIGA / 400, rate("s7"), 1e-3);
        Demand tooMuch = inTime("more", 2, 5, 25_000_000, 500);
        assertEquals("the deadline requires 400000000 b/s; link 'b to c' has 300000000 b/s unreserved",
                LambdaApp.lacking(app.view(), tooMuch).orElseThrow());
        app.onEvent(0, put(tooMuch));
        assertEquals(1, app.view().refused());
        // More than any number of b/s, which is not said to be more than the rate that nobody said.
        Demand most = inTime("most", 2, 5, Demand.MAX_BYTES, 1);
        assertTrue(LambdaApp.lacking(app.view(), most).orElseThrow().startsWith("the deadline requires 92233720368547758"));
        assertEquals(401, app.view().grants().demands().size());
        // In its own place it has its own part.
        assertEquals(Optional.empty(), LambdaApp.lacking(app.view(), inTime("soon", 0, 4, 31_250_000, 500)));
    }

    @Test
    void aLeaseEndsUnlessItIsAskedForAgain() {
        Demand leased = demand("short", 2, 5, 0).leased(2000);
        app.onEvent(0, put(demand("long", 0, 4, 0)));
        app.onEvent(1 * SECOND, put(leased));
        assertEquals(OptionalLong.of(3 * SECOND), app.nextDeadlineNs());
        app.onEvent(2 * SECOND, put(demand("short", 2, 5, 0).leased(2000)));
        assertEquals(OptionalLong.of(4 * SECOND), app.nextDeadlineNs());
        assertEquals(List.of(), app.onEvent(4 * SECOND - 1, new Event.DeadlineReached()));
        assertEquals(GIGA / 4.0, rate("long"));
        assertEquals("session 'short': lease expired, session removed",
                app.onEvent(4 * SECOND, new Event.DeadlineReached()).get(0).toString());
        assertEquals(GIGA / 2.0, rate("long"));
        assertTrue(app.nextDeadlineNs().isEmpty());
        // Who asks without a lease stays, and who has left has none any more.
        app.onEvent(5 * SECOND, put(leased));
        app.onEvent(5 * SECOND, put(demand("short", 2, 5, 0)));
        assertTrue(app.nextDeadlineNs().isEmpty());
        app.onEvent(5 * SECOND, put(leased));
        app.onEvent(5 * SECOND, leave("short"));
        assertTrue(app.nextDeadlineNs().isEmpty());
        for (long ms : new long[] {0, 999, Demand.MAX_LEASE_MS + 1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> leased.leased(ms));
        }
        // One that cannot be there does not renew what is.
        app.onEvent(6 * SECOND, put(leased));
        app.onEvent(7 * SECOND, put(inTime("short", 2, 5, Demand.MAX_BYTES, 1).leased(2000)));
        assertEquals(OptionalLong.of(8 * SECOND), app.nextDeadlineNs());
    }

    @Test
    void whatAnEndedLeaseHadOfAStarIsFreeAtOnce() {
        LambdaApp slotted = new LambdaApp(star(3, 16, 1_000_000), List.of());
        slotted.onEvent(0, put(demand("one", 0, 1, 0).leased(1000)));
        slotted.onEvent(0, new Event.DeadlineReached());
        assertEquals(OptionalLong.of(SECOND), slotted.nextDeadlineNs());
        List<Command> told = slotted.onEvent(SECOND, new Event.DeadlineReached());
        assertEquals("session_expired", ((Command.Notice) told.get(0)).event());
        assertArrayEquals(new int[3][3], ((SlotsReserved) ((Command.ToApp) told.get(1)).order()).slots());
    }

    @Test
    void siteWithoutALambdaAndRoomForNoMore() {
        LambdaWeb apart = new LambdaWeb("apart", List.of(at("a0", "a"), at("b0", "b"), at("c0", "c")), both("a", "b", GIGA), Optional.empty());
        LambdaApp lonely = new LambdaApp(apart, List.of());
        assertEquals("no path of lambdas from 'a0' to 'c0'", LambdaApp.lacking(lonely.view(), demand("x", 0, 2, 0)).orElseThrow());
        for (int k = 0; k <= LambdaApp.MAX_SESSIONS; k++) {
            lonely.onEvent(0, put(demand("s" + k, 0, 1, 0)));
        }
        assertEquals(LambdaApp.MAX_SESSIONS, lonely.view().grants().demands().size());
        assertTrue(LambdaApp.lacking(lonely.view(), demand("x", 0, 1, 0)).orElseThrow().startsWith("too many sessions; expected at most 4096"));
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
        assertEquals("duplicate session 'one'", assertThrows(IllegalArgumentException.class,
                () -> new LambdaApp(star(2, 16, 1_000_000), List.of(demand("one", 0, 1, 0), demand("one", 1, 0, 0)))).getMessage());
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new LambdaApp(row, List.of(inTime("x", 0, 4, 125_000_000, 1000)))).getMessage()
                .startsWith("session 'x': the deadline requires 1000000000 b/s; link 'b to c' has 500000000 b/s unreserved"));
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
        assertEquals(List.of(), slotted.onEvent(5, put(demand("one", 0, 1, 0))));
        assertEquals(List.of(), slotted.onEvent(5, put(demand("two", 0, 2, 0))));
        assertEquals(OptionalLong.of(5), slotted.nextDeadlineNs());
        List<Command> told = slotted.onEvent(5, new Event.DeadlineReached());
        assertArrayEquals(new int[][] {{0, 8, 8}, {0, 0, 0}, {0, 0, 0}}, ((SlotsReserved) ((Command.ToApp) told.get(0)).order()).slots());
        assertTrue(slotted.nextDeadlineNs().isEmpty());
        slotted.onEvent(6, put(demand("one", 0, 1, 8_000_000)));
        assertEquals(List.of(), slotted.onEvent(6, new Event.DeadlineReached()));
        slotted.onEvent(7, leave("two"));
        slotted.onEvent(7, leave("one"));
        told = slotted.onEvent(7, new Event.DeadlineReached());
        assertArrayEquals(new int[3][3], ((SlotsReserved) ((Command.ToApp) told.get(0)).order()).slots());
    }

    /** Three share 16 slots, and one of them gets 6. */
    @Test
    void nobodyIsGrantedMoreThanTheSlotsOfItsPair() {
        LambdaApp slotted = new LambdaApp(star(4, 16, 1_000_000), List.of(demand("a", 0, 1, 0), demand("b", 0, 2, 0), demand("c", 0, 3, 3_000_000),
                demand("d", 0, 3, 3_000_000)));
        Grants grants = slotted.view().grants();
        assertEquals(List.of(5, 5, 6), List.of(grants.slots().orElseThrow()[0][1], grants.slots().orElseThrow()[0][2], grants.slots().orElseThrow()[0][3]));
        slotted.onEvent(0, put(demand("d", 0, 3, 2_500_000)));
        grants = slotted.view().grants();
        double[] pairs = new double[4];
        for (int place = 0; place < 4; place++) {
            assertTrue(grants.grantedBps(place) <= grants.rateBps(place));
            pairs[grants.demands().get(place).sink()] += grants.grantedBps(place);
        }
        for (int sink = 1; sink < 4; sink++) {
            assertTrue(pairs[sink] <= grants.slots().orElseThrow()[0][sink] * 1e6 + 1e-3, "to " + sink);
        }
        assertEquals(Optional.empty(), grants.refuted());
    }

    @Test
    void aDeadlineHasWholeSlots() {
        LambdaApp slotted = new LambdaApp(star(3, 16, 1_000_000), List.of());
        // 5.1 slots each of 16, which is 6, beside others that would have the rest.
        slotted.onEvent(0, put(inTime("a", 0, 1, 637_500, 1000)));
        slotted.onEvent(0, put(inTime("b", 0, 2, 637_500, 1000)));
        for (int k = 0; k < 50; k++) {
            slotted.onEvent(0, put(demand("s" + k, 0, 1 + k % 2, 0)));
        }
        Grants grants = slotted.view().grants();
        assertTrue(grants.grantedBps(0) >= 5_100_000 && grants.grantedBps(1) >= 5_100_000);
        assertEquals(Optional.empty(), grants.refuted());
        // What is promised is whole slots: 4 are left, and 0.9 of those that its pair has already.
        assertEquals(Optional.empty(), LambdaApp.lacking(slotted.view(), inTime("c", 0, 2, 612_500, 1000)));
        assertEquals("the deadline requires 5000000 b/s; link 'e0 up' has 4000000 b/s unreserved",
                LambdaApp.lacking(slotted.view(), inTime("c", 0, 2, 625_000, 1000)).orElseThrow());
        // Wants no more than its least rate: has whole slots, and sends no faster than it wants.
        LambdaApp alone = new LambdaApp(star(3, 16, 1_000_000), List.of(new Demand("a", 0, 1, OptionalLong.of(5_100_000), 1, OptionalLong.of(637_500), OptionalLong.of(1000))));
        assertEquals(6, alone.view().grants().slots().orElseThrow()[0][1]);
        assertEquals(5_100_000, alone.view().grants().grantedBps(0), 1e-3);
    }

    /** What rounding to slots takes from a pair is not of its deadlines; even the least rate there is has a slot. */
    @Test
    void aDeadlineIsKeptWhateverSharesTheSlotsOfItsPair() {
        Random random = new Random(15);
        for (int network = 0; network < 200; network++) {
            LambdaApp slotted = new LambdaApp(star(4, 16, 1_000_000), List.of());
            for (int k = 0; k < 24; k++) {
                int source = random.nextInt(4);
                int sink = (source + 1 + random.nextInt(3)) % 4;
                slotted.onEvent(0, put(random.nextInt(2) == 0 ? demand("s" + k, source, sink, random.nextInt(2) * (1L + random.nextInt(16_000_000)))
                        : inTime("s" + k, source, sink, random.nextInt(3) == 0 ? 1 : 1 + random.nextInt(700_000), 1000)));
            }
            Grants grants = slotted.view().grants();
            double[][] pairs = new double[4][4];
            for (int place = 0; place < grants.demands().size(); place++) {
                Demand each = grants.demands().get(place);
                pairs[each.source()][each.sink()] += grants.grantedBps(place);
                assertTrue(grants.grantedBps(place) >= each.leastBps() - 1e-3, network + ": " + each.session() + " has " + grants.grantedBps(place));
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 4; j++) {
                    assertTrue(pairs[i][j] <= grants.slots().orElseThrow()[i][j] * 1e6 + 1e-3, network + ": " + i + " to " + j);
                }
            }
            assertEquals(Optional.empty(), grants.refuted());
        }
    }

    @Test
    void aStarThatCannotReserveWhatSessionsMayHaveIsRefusedAtTheStart() {
        assertEquals("application 'lambda': cannot send requests to application 'star': a frame has 16 data slots; expected at least 17", conflict(Networks.star(4, 20), 4, 17));
        assertEquals("application 'lambda': cannot send requests to application 'star': slots for 3 edges; expected 4", conflict(Networks.star(4, 20), 3, 16));
        assertTrue(conflict(Networks.sharingPorts(20, 0, 1, 2, 2), 4, 16).contains("edges share core ports"));
        assertTrue(conflict(Networks.overlaid(4, 20, 2), 4, 16).contains("more than one star"));
        new AppHost(List.of(StarApp.of(Networks.star(4, 20), Networks.scheduler(Kinds.FAIR), () -> 0), new LambdaApp(star(4, 16, 1_000_000), List.of())));
    }

    private static String conflict(Network network, int edges, int slots) {
        List<App<?>> apps = List.of(StarApp.of(network, Networks.scheduler(Kinds.FAIR), () -> 0), new LambdaApp(star(edges, slots, 1_000_000), List.of()));
        return assertThrows(AppHost.ConflictException.class, () -> new AppHost(apps)).getMessage();
    }

    /** Bound 'slots' of our own for the dissertation's X.3.C: at most 2 slots off, and no collision; rates here are the oracle's. */
    @Test
    void slotsOfEightEdgesAreLessThanOneOffTheirRatesAndNeverCollide() {
        Random random = new Random(20261124);
        for (int network = 0; network < 200; network++) {
            LambdaApp slotted = new LambdaApp(star(8, 128, 1_000_000), List.of());
            for (int k = 1 + random.nextInt(40); k > 0; k--) {
                int source = random.nextInt(8);
                slotted.onEvent(0, put(demand("s" + k, source, (source + 1 + random.nextInt(7)) % 8, random.nextInt(2) * (1L + random.nextInt(128_000_000)))));
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
