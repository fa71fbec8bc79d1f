// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.model.CorePorts;

/** What holds for every scheduler where edges share ports of the core. */
class SharedPortSchedulerTest {
    @Provide
    Arbitrary<SchedulerKind> kinds() {
        return Kinds.any();
    }

    private static final int SLOTS = 16;
    private static final double EXACT = 1e-4;

    /** Demands, and a port for each edge. */
    static final class Case {
        final int[][] demand;
        final CorePorts ports;

        Case(int[][] demand, List<Integer> numbers) {
            this.demand = demand;
            this.ports = CorePorts.of(numbers.stream().mapToInt(Integer::intValue).toArray());
        }

        int edges() {
            return demand.length;
        }

        FrameSchedule empty() {
            return FrameSchedule.empty(edges(), SLOTS);
        }

        @Override
        public String toString() {
            int[] portOf = new int[edges()];
            Arrays.setAll(portOf, ports::portOf);
            return Arrays.toString(portOf) + " " + Arrays.deepToString(demand);
        }
    }

    @Provide
    Arbitrary<Case> cases() {
        return cases(7, 100);
    }

    @Provide
    Arbitrary<Case> smallCases() {
        return cases(5, SLOTS);
    }

    private static Arbitrary<Case> cases(int edges, int largest) {
        Arbitrary<int[][]> demands = Matrices.square(Arbitraries.integers().between(2, edges),
                Arbitraries.oneOf(Arbitraries.integers().between(0, 3), Arbitraries.integers().between(0, largest)));
        return demands.flatMap(demand -> Arbitraries.integers().between(0, demand.length - 1).list()
                .ofSize(demand.length).map(numbers -> new Case(demand, numbers)));
    }

    private static Scheduler create(SchedulerKind kind, Map<String, String> settings, CorePorts ports) {
        try {
            return kind.create(kind.completeSettings(settings), ports);
        } catch (InvalidSettingsException e) {
            throw new AssertionError(e);
        }
    }

    private static int[][] byPort(int[][] byEdge, CorePorts ports) {
        int[][] sums = new int[ports.count()][ports.count()];
        for (int i = 0; i < byEdge.length; i++) {
            for (int j = 0; j < byEdge.length; j++) {
                sums[ports.portOf(i)][ports.portOf(j)] += i == j ? 0 : byEdge[i][j];
            }
        }
        return sums;
    }

    private static boolean fits(Case test) {
        int[][] ofPorts = byPort(test.demand, test.ports);
        for (int port = 0; port < ofPorts.length; port++) {
            if (Matrices.row(ofPorts, port) > SLOTS || Matrices.column(ofPorts, port) > SLOTS) {
                return false;
            }
        }
        return true;
    }

    /** Port to which each port sends, by slot and port; fails if two edges of a port send or receive at once. */
    private static int[][] checkPorts(FrameSchedule schedule, CorePorts ports) {
        Schedules.checkNoCollision(schedule);
        int[][] receivers = new int[schedule.slots()][ports.count()];
        for (int slot = 0; slot < schedule.slots(); slot++) {
            boolean[] receives = new boolean[ports.count()];
            Arrays.fill(receivers[slot], FrameSchedule.NONE);
            for (int edge = 0; edge < schedule.edges(); edge++) {
                int output = schedule.output(slot, edge);
                if (output != FrameSchedule.NONE) {
                    assertEquals(FrameSchedule.NONE, receivers[slot][ports.portOf(edge)], "two edges of a port send");
                    assertFalse(receives[ports.portOf(output)], "two edges of a port receive");
                    receivers[slot][ports.portOf(edge)] = ports.portOf(output);
                    receives[ports.portOf(output)] = true;
                }
            }
        }
        return receivers;
    }

    @Property(seed = "20261101")
    void neverDoTwoEdgesOfAPortSendOrReceiveAtOnce(@ForAll("cases") Case test, @ForAll("kinds") SchedulerKind kind) {
        Scheduler scheduler = create(kind, Map.of(), test.ports);
        FrameSchedule schedule = test.empty();
        for (int frame = 0; frame < 4; frame++) {
            schedule = scheduler.schedule(test.demand, schedule);
            assertEquals(SLOTS, schedule.slots());
            assertEquals(test.edges(), schedule.edges());
            checkPorts(schedule, test.ports);
            int left = frame % test.edges();
            schedule = frame == 2 ? schedule.without(edge -> edge == left) : schedule;
        }
    }

    @Property(seed = "20261102")
    void sameDemandsSameSchedules(@ForAll("cases") Case test, @ForAll("kinds") SchedulerKind kind) {
        Scheduler first = create(kind, Map.of(), test.ports);
        Scheduler second = create(kind, Map.of(), test.ports);
        FrameSchedule schedule = test.empty();
        for (int frame = 0; frame < 3; frame++) {
            FrameSchedule next = first.schedule(test.demand, schedule);
            assertEquals(next, second.schedule(test.demand, schedule));
            schedule = next;
        }
    }

    @Property(seed = "20261103")
    void whatPortsCanCarryIsNeverRejectedByExactSchedulers(@ForAll("smallCases") Case test, @ForAll boolean solstice) {
        if (!fits(test)) {
            return;
        }
        int[][] service = create(solstice ? Kinds.SOLSTICE : Kinds.FAIR, Map.of(), test.ports)
                .schedule(test.demand, test.empty()).service();
        for (int i = 0; i < test.edges(); i++) {
            for (int j = 0; j < test.edges(); j++) {
                assertTrue(i == j || service[i][j] >= test.demand[i][j], "pair " + i + " -> " + j);
            }
        }
    }

    @Property(seed = "20261104")
    void scheduleThatServesTheDemandStays(@ForAll("smallCases") Case test, @ForAll("kinds") SchedulerKind kind) {
        int[][] demand = new int[test.edges()][test.edges()];
        demand[0][1] = 2;
        Scheduler scheduler = create(kind, Map.of(), test.ports);
        FrameSchedule schedule = scheduler.schedule(demand, test.empty());
        assertEquals(schedule, scheduler.schedule(demand, schedule));
    }

    @Property(seed = "20261105", tries = 100)
    void everyEdgePairHasItsWeightedMaxMinShareOfThePorts(@ForAll("smallCases") Case test, @ForAll Random random) {
        int[][] weight = new int[test.edges()][test.edges()];
        StringBuilder rules = new StringBuilder();
        for (int i = 0; i < test.edges(); i++) {
            for (int j = 0; j < test.edges(); j++) {
                weight[i][j] = 1 + random.nextInt(4);
                rules.append(rules.length() == 0 ? "" : ",").append(i).append('>').append(j).append('=').append(weight[i][j]);
            }
            test.demand[i][i] = 0;
        }
        double[][] exact = MaxMinByLinearProgram.solve(test.demand, weight, SLOTS, test.ports);
        int[][] service = create(Kinds.FAIR, Map.of("weights", rules.toString()), test.ports)
                .schedule(test.demand, test.empty()).service();
        for (int i = 0; i < test.edges(); i++) {
            for (int j = 0; j < test.edges(); j++) {
                assertTrue(service[i][j] >= Math.floor(exact[i][j] + EXACT), "pair " + i + " -> " + j);
            }
        }
    }

    @Property(seed = "20261106")
    void noSlotIsIdleAtBothEndsOfPortsWithBacklog(@ForAll("cases") Case test, @ForAll("kinds") SchedulerKind kind) {
        if (kind == Kinds.ROTATION) {
            return;
        }
        FrameSchedule schedule = create(kind, Map.of(), test.ports).schedule(test.demand, test.empty());
        int[][] receivers = checkPorts(schedule, test.ports);
        int[][] service = byPort(schedule.service(), test.ports);
        int[][] wanted = byPort(test.demand, test.ports);
        for (int[] slot : receivers) {
            for (int from = 0; from < slot.length; from++) {
                for (int to = 0; to < slot.length; to++) {
                    int receiver = to;
                    boolean idle = slot[from] == FrameSchedule.NONE && Arrays.stream(slot).noneMatch(port -> port == receiver);
                    assertTrue(!idle || service[from][to] >= wanted[from][to], "ports " + from + " -> " + to);
                }
            }
        }
    }

    @Property(seed = "20261107")
    void slotsOfTwoPortsAreDealtMaxMinFair(@ForAll("cases") Case test, @ForAll("kinds") SchedulerKind kind) {
        if (kind == Kinds.FAIR || kind == Kinds.SOLSTICE) {
            return;
        }
        int[][] service = create(kind, Map.of(), test.ports).schedule(test.demand, test.empty()).service();
        for (int poor = 0; poor < test.edges() * test.edges(); poor++) {
            for (int rich = 0; rich < test.edges() * test.edges(); rich++) {
                int[] one = {poor / test.edges(), poor % test.edges()};
                int[] other = {rich / test.edges(), rich % test.edges()};
                boolean samePorts = test.ports.portOf(one[0]) == test.ports.portOf(other[0])
                        && test.ports.portOf(one[1]) == test.ports.portOf(other[1]);
                boolean wants = one[0] != one[1] && service[one[0]][one[1]] < test.demand[one[0]][one[1]];
                assertTrue(!samePorts || !wants
                        || service[other[0]][other[1]] <= service[one[0]][one[1]] + 1, "a pair has more than one that waits");
            }
        }
    }

    @Property(seed = "20261108")
    void solsticeKeepsDarkSlotsBeforeEachConfiguration(@ForAll("cases") Case test) {
        int[][] receivers = checkPorts(create(Kinds.SOLSTICE, Map.of("dark_slots", "1"), test.ports)
                .schedule(test.demand, test.empty()), test.ports);
        for (int slot = 1; slot < SLOTS; slot++) {
            for (int port = 0; port < receivers[slot].length; port++) {
                int before = receivers[slot - 1][port];
                int now = receivers[slot][port];
                assertTrue(now == FrameSchedule.NONE || before == FrameSchedule.NONE || now == before);
            }
        }
    }

    @Property(seed = "20261109")
    void withoutSharedPortsNothingIsDifferent(@ForAll("cases") Case test, @ForAll("kinds") SchedulerKind kind) {
        CorePorts own = CorePorts.ofItsOwn(test.edges());
        FrameSchedule expected = test.empty();
        FrameSchedule schedule = test.empty();
        Scheduler plain;
        try {
            plain = kind.create(kind.completeSettings(Map.of()));
        } catch (InvalidSettingsException e) {
            throw new AssertionError(e);
        }
        Scheduler scheduler = create(kind, Map.of(), own);
        for (int frame = 0; frame < 3; frame++) {
            expected = plain.schedule(test.demand, expected);
            schedule = scheduler.schedule(test.demand, schedule);
            assertEquals(expected, schedule);
        }
    }

    @Test
    void whatDoesNotComeOutEvenTakesTurns() {
        CorePorts ports = CorePorts.of(0, 1, 1);
        int[][] demand = {{0, 0, 0}, {90, 0, 0}, {90, 0, 0}};
        Scheduler scheduler = create(Kinds.ISLIP, Map.of(), ports);
        FrameSchedule schedule = FrameSchedule.empty(3, 5);
        int[] served = new int[3];
        for (int frame = 0; frame < 10; frame++) {
            schedule = scheduler.schedule(demand, schedule);
            for (int edge = 1; edge < 3; edge++) {
                served[edge] += schedule.service()[edge][0];
            }
        }
        assertEquals(25, served[1]);
        assertEquals(25, served[2]);
    }

    @Test
    void rotationServesEveryEdgePairAndKeepsAllPortsBusy() {
        CorePorts ports = CorePorts.of(0, 1, 1, 3, 3, 3);
        FrameSchedule schedule = create(Kinds.ROTATION, Map.of(), ports)
                .schedule(new int[6][6], FrameSchedule.empty(6, 56));
        int[][] receivers = checkPorts(schedule, ports);
        int busy = 0;
        for (int[] slot : receivers) {
            for (int receiver : slot) {
                busy += receiver == FrameSchedule.NONE ? 0 : 1;
            }
        }
        // Where the two shared ports send to themselves the port of a single edge can only be idle.
        assertTrue(busy >= 3 * 56 * 9 / 10, "busy: " + busy);
        int[][] service = schedule.service();
        for (int i = 0; i < 6; i++) {
            for (int j = 0; j < 6; j++) {
                assertTrue(i == j || service[i][j] > 0, "pair " + i + " -> " + j);
            }
        }
    }

    @Test
    void edgesOfOnePortReachEachOtherAndAbsurdDemandsDoNotOverflow() {
        CorePorts ports = CorePorts.of(0, 1, 1);
        int[][] demand = {{7, 0, Integer.MAX_VALUE}, {0, 0, Integer.MAX_VALUE}, {-1, Integer.MAX_VALUE, Integer.MIN_VALUE}};
        for (SchedulerKind kind : Schedulers.ours().all()) {
            int[][] service = create(kind, Map.of(), ports).schedule(demand, FrameSchedule.empty(3, SLOTS)).service();
            assertTrue(service[1][2] > 0 && service[2][1] > 0, kind.title());
        }
    }
}
