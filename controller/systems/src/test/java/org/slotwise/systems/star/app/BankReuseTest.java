// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.WireConstants;

/** Reuse of the standby bank with out-of-band signaling: the master's frames begin T_d before the core's. */
class BankReuseTest {
    private static final long T_D_NS = 10_000;
    private static final int EDGES = 3;

    private final List<Command.Write> writes = new ArrayList<>();
    private Network network;
    private StarController controller;
    private long frame;
    private long active;
    private long next;

    private void start(long minControlLatencyNs) {
        network = Networks.outOfBand(Networks.star(EDGES, 8)).toBuilder().minControlLatencyNs(minControlLatencyNs).build();
        controller = new StarController(network, Networks.scheduler(Kinds.FAIR), () -> 0);
        StarModel star = new StarModel(network);
        star.attach(controller);
        // The model's first steps have configured the switches.
        frame = 1;
    }

    /** Delivers an event, and answers writes at once. */
    private void deliver(long nowNs, Event event) {
        Deque<Event> events = new ArrayDeque<>(List.of(event));
        while (!events.isEmpty()) {
            for (Command command : controller.onEvent(nowNs, events.remove())) {
                if (command instanceof Command.Write) {
                    writes.add((Command.Write) command);
                    events.add(new Event.WriteDone(((Command.Write) command).device(), ((Command.Write) command).batch()));
                } else if (command instanceof Command.PacketOut) {
                    next = CommitHeader.decode(((Command.PacketOut) command).frame(), ControlMessage.PAYLOAD).orElseThrow().nextVersion();
                }
            }
        }
    }

    /** Runs one frame: each edge reports its versions, the master last. A staged commit is announced, an announced one becomes active. */
    private void runFrame(long nowNs, long backlogBytes) {
        frame++;
        long announced = next;
        for (int index = EDGES - 1; index >= 0; index--) {
            Edge edge = network.edges().get(index);
            byte[] request = new RequestMessage(index).frame(frame).versions(active, announced)
                    .backlog((index + 1) % EDGES, backlogBytes).encode();
            deliver(nowNs, new Event.PacketIn(edge.device(), WireConstants.PORT_LINECARD, request));
        }
        active = announced;
    }

    /** Runs to the frame in which all edges report the first commit as active, with demand for another schedule. */
    private long completeCommit() {
        long nowNs = 1_000_000;
        while (controller.snapshot().statistics().get(Counter.COMMITS_COMPLETED) == 0) {
            writes.clear();
            nowNs += network.frame().frameNs();
            runFrame(nowNs, frame < 6 ? 0 : frame * 20_000);
        }
        return nowNs;
    }

    @Test
    void aBankIsWrittenWhenTheCoreHasLeftIt() {
        start(0);
        long nowNs = completeCommit();
        assertEquals(List.of(), writes);
        assertEquals(OptionalLong.of(nowNs + T_D_NS), controller.nextDeadlineNs());
        deliver(nowNs + T_D_NS - 1, new Event.DeadlineReached());
        assertEquals(List.of(), writes);
        deliver(nowNs + T_D_NS, new Event.DeadlineReached());
        assertFalse(writes.isEmpty());
    }

    @Test
    void theLatencyThatIsKnownCounts() {
        start(T_D_NS - 1000);
        long nowNs = completeCommit();
        assertEquals(List.of(), writes);
        assertEquals(OptionalLong.of(nowNs + 1000), controller.nextDeadlineNs());
    }

    @Test
    void aLongLatencyNeedsNoWait() {
        start(T_D_NS);
        completeCommit();
        assertFalse(writes.isEmpty());
    }
}
