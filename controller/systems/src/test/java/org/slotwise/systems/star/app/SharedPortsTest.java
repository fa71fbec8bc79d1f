// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Fibre;
import org.slotwise.systems.star.model.FramePlan;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.Schedulers;

/** The controller of a star some of whose edges share ports of the core; the model checks every slot in force. */
class SharedPortsTest {
    private static final int SETTLED = 6;

    /** Edges 1 and 2 share port 1, edges 3, 4 and 5 port 3; 14 data slots. */
    private final Network network = Networks.sharingPorts(20, 0, 1, 1, 3, 3, 3);
    private final StarModel star = new StarModel(network);

    private StarController controller(SchedulerKind kind) {
        return new StarController(network, Networks.scheduler(kind), () -> 0);
    }

    @Test
    void withoutDemandEveryPairHasASlot() {
        star.attach(controller(Kinds.FAIR));
        star.runFrames(SETTLED);
        assertEquals(1, star.active);
        for (int from = 0; from < 6; from++) {
            for (int to = 0; to < 6; to++) {
                // The six pairs of port 3 with itself and the nine or three with others do not all fit in 14 slots.
                assertTrue(from == to || from > 2 && to > 2 || star.grantedSlots(from, to) >= 1, from + " -> " + to);
            }
        }
    }

    @Test
    void edgesOfAPortShareItsSlotsEvenly() {
        star.attach(controller(Kinds.FAIR));
        star.runFrames(SETTLED);
        star.backlog[1][3] = 400_000;
        star.backlog[2][4] = 400_000;
        star.runFrames(10);
        assertEquals(7, star.grantedSlots(1, 3));
        assertEquals(7, star.grantedSlots(2, 4));
        star.backlog[2][4] = 0;
        star.runFrames(10);
        assertEquals(14, star.grantedSlots(1, 3));
    }

    @Test
    void everySchedulerKeepsToThePorts() {
        Random random = new Random(7);
        star.attach(controller(Kinds.FAIR));
        for (SchedulerKind kind : Schedulers.ours().all()) {
            star.deliver(Networks.scheduler(kind));
            for (int round = 0; round < 8; round++) {
                for (int from = 0; from < 6; from++) {
                    for (int to = 0; to < 6; to++) {
                        star.backlog[from][to] = from == to || random.nextBoolean() ? 0 : random.nextInt(100_000);
                    }
                }
                star.runFrames(5);
            }
            int granted = 0;
            for (int from = 0; from < 6; from++) {
                for (int to = 0; to < 6; to++) {
                    granted += star.grantedSlots(from, to);
                }
            }
            assertTrue(granted >= 14, kind.title());
        }
    }

    @Test
    void restartedControllerFindsWhoSendsInEachSlot() {
        star.attach(controller(Kinds.FAIR));
        star.backlog[1][2] = 400_000;
        star.backlog[4][5] = 400_000;
        star.backlog[2][3] = 400_000;
        star.runFrames(12);
        assertNotEquals(0, star.active);
        StarController restarted = controller(Kinds.FAIR);
        star.attach(restarted);
        while (restarted.snapshot().phase() == Phase.LEARNING) {
            star.runFrame();
        }
        int[][] found = restarted.snapshot().schedule().service();
        for (int from = 0; from < 6; from++) {
            for (int to = 0; to < 6; to++) {
                assertEquals(star.grantedSlots(from, to), found[from][to], from + " -> " + to);
            }
        }
        assertTrue(found[1][2] >= 5 && found[4][5] >= 5);
        star.runFrames(12);
    }

    @Test
    void loadOfAPortCountsForAllItsEdges() {
        // Edges 2 and 3 share port 2 of core 1, and have one each of core 0.
        Network network = Networks.star(new FramePlan(20, Networks.SLOT_NS, 10_000), List.of(core(0), core(1)),
                IntStream.range(0, 4).mapToObj(this::edgeOfTwoStars).collect(Collectors.toList()));
        TwinModel twins = new TwinModel(network, Networks.scheduler(Kinds.FAIR));
        twins.start();
        for (int frame = 0; frame < 60; frame++) {
            twins.stars.get(1).backlog[2][0] = 250_000;
            twins.setBacklog(3, 1, 80_000);
            twins.runFrames(1);
        }
        int[] parts = twins.parts(3, 1);
        assertTrue(parts[0] > parts[1], parts[0] + " parts against " + parts[1]);
    }

    private static Core core(int id) {
        return new Core(CoreId.of(id), EdgeId.of(id), DeviceId.of(1001 + id));
    }

    private Edge edgeOfTwoStars(int id) {
        return Networks.withFibres(Networks.edge(id, 200_000_000), List.of(Networks.fibre(0, 200_000_000),
                new Fibre(CoreId.of(1), 257, 200_000_000, 10_000, id == 3 ? OptionalInt.of(2) : OptionalInt.empty())));
    }

    @Test
    void starGoesOnWithoutALostEdgeOfASharedPort() {
        star.attach(controller(Kinds.FAIR));
        star.runFrames(SETTLED);
        star.stop(network.edges().get(4).device());
        star.backlog[3][0] = 400_000;
        star.runFrames(20);
        assertEquals(14, star.grantedSlots(3, 0));
        star.ready(network.edges().get(4).device());
        star.backlog[4][0] = 400_000;
        star.runFrames(20);
        assertEquals(7, star.grantedSlots(4, 0));
        assertEquals(7, star.grantedSlots(3, 0));
    }
}
