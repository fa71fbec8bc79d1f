// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.CommitHeader;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.WireConstants;

/**
 * The switches of a star as far as a controller sees them: tables, versions, beacons, commits, requests. Strict: an update
 * that a switch would refuse fails the test, and so does one that touches the data slots of the bank in force where they
 * are used.
 */
final class StarModel {
    final Network network;
    final List<String> deviceWriteOrder = new ArrayList<>();
    final List<Command.PacketOut> packetOuts = new ArrayList<>();
    final List<ScheduleInForce> inForce = new ArrayList<>();
    final List<Command.Notice> failures = new ArrayList<>();
    final Deque<Command.Write> heldWrites = new ArrayDeque<>();
    final long[][] backlog;
    final long[][] arrived;
    boolean holdWrites;
    boolean loseCommits;
    /** Index of an edge whose requests do not come; -1 for none. */
    int muteEdge = -1;
    long frame;
    long active;
    long next;
    private long nextFrame;
    private Long stagedVersion;
    final SwitchTables tables;
    /** Of several stars, what tells the controller of all; null of an only one. */
    private final Consumer<Event> sink;
    /** By edge: versions in force and announced, as the last beacon heard said. */
    private final long[] edgeActive;
    private final long[] edgeNext;
    private final long[] edgeNextFrame;
    private final long[] lastBeacon;
    private StarController controller;
    private long nowNs;

    StarModel(Network network) {
        this(network, new SwitchTables(network.devices()), null);
    }

    /** A star whose edges are in others as well. */
    StarModel(Network network, SwitchTables tables, Consumer<Event> sink) {
        this.network = network;
        this.tables = tables;
        this.sink = sink;
        int edges = network.edges().size();
        this.edgeActive = new long[edges];
        this.edgeNext = new long[edges];
        this.edgeNextFrame = new long[edges];
        this.lastBeacon = new long[edges];
        this.backlog = new long[edges][edges];
        this.arrived = new long[edges][edges];
    }

    /** Attaches a controller, which finds the tables as they are. */
    void attach(StarController newController) {
        controller = newController;
        heldWrites.clear();
        network.devices().forEach(this::ready);
    }

    void ready(DeviceId device) {
        deliver(new Event.DeviceReady(device, tables.entries(device)));
    }

    /** The switch stops, and its tables are gone; {@link #ready} brings it back. */
    void stop(DeviceId device) {
        tables.clear(device);
        deliver(new Event.DeviceLost(device));
    }

    void deliver(Event event) {
        if (sink != null) {
            sink.accept(event);
            return;
        }
        for (Command command : controller.onEvent(nowNs, event)) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                if (holdWrites) {
                    heldWrites.add(write);
                } else {
                    carryOut(write);
                }
            } else if (command instanceof Command.PacketOut) {
                packetOut((Command.PacketOut) command);
            } else if (command instanceof Command.ReadTables) {
                ready(((Command.ReadTables) command).device());
            } else if (command instanceof ScheduleInForce) {
                inForce.add((ScheduleInForce) command);
            } else {
                failures.add((Command.Notice) command);
            }
        }
    }

    void carryOut(Command.Write write) {
        applyOnly(write);
        deliver(new Event.WriteDone(write.device(), write.batch()));
    }

    /** The switch obeys, but its answer never comes. */
    void applyOnly(Command.Write write) {
        deviceWriteOrder.add(write.device().toString());
        for (Update update : write.updates()) {
            checkNotInForce(write.device(), update);
            tables.apply(write.device(), update);
        }
    }

    /** A slot may be taken away from a slave at any time: it can only become dark. */
    void checkNotInForce(DeviceId device, Update update) {
        OptionalLong bank = update.entry().matchValue("bank");
        long slot = update.entry().matchValue("slot").orElse(0);
        boolean taken = update.type() == Update.Type.DELETE && !device.equals(network.core().device());
        if (bank.isPresent() && slot >= network.firstDataSlot() && !taken) {
            assertNotEquals(active & 1, bank.getAsLong(), () -> "bank in force changed: " + update);
            assertEquals(active, next, () -> "bank announced changed: " + update);
        }
    }

    void packetOut(Command.PacketOut packet) {
        packetOuts.add(packet);
        assertEquals(network.master().device(), packet.device());
        assertEquals(WireConstants.PORT_SELF, packet.port());
        CommitHeader commit =
                CommitHeader.decode(packet.frame(), ControlMessage.PAYLOAD).orElseThrow();
        assertNotEquals(active & 1, commit.nextVersion() & 1, "commit for the bank in force");
        if (!loseCommits) {
            stagedVersion = commit.nextVersion();
        }
    }

    /** One frame: flip, announce, requests in signaling order. */
    void runFrame() {
        nowNs += network.frame().frameNs();
        beginFrame();
        long end = nowNs + network.frame().frameNs();
        OptionalLong deadline = controller.nextDeadlineNs();
        if (deadline.isPresent() && deadline.getAsLong() < end) {
            nowNs = deadline.getAsLong();
            deliver(new Event.DeadlineReached());
        }
    }

    /** Flip, announce, beacons, requests in signaling order. */
    void beginFrame() {
        frame++;
        if (next != active && frame >= nextFrame) {
            active = next;
        }
        if (stagedVersion != null && next == active) {
            next = stagedVersion;
            nextFrame = frame + 1;
            stagedVersion = null;
        }
        sendBeacons();
        checkSchedule();
        for (int edge = 0; edge < network.edges().size(); edge++) {
            if (edge != muteEdge && (frame & requestMask(edge)) == 0) {
                request(edge);
            }
        }
    }

    /** In frames whose number has a bit of this the tables of an edge make no request. */
    private long requestMask(int edge) {
        return tables.entries(network.edges().get(edge).device()).stream()
                .filter(entry -> entry.action().equals("send_request_every"))
                .mapToLong(entry -> entry.params().get("mask")).findFirst().orElse(0);
    }

    /** Who is sent no beacon goes on with what the last one said. */
    private void sendBeacons() {
        for (int edge = 0; edge < edgeActive.length; edge++) {
            Edge to = network.edges().get(edge);
            if (to == network.master() || isSentBeacon(to)) {
                edgeActive[edge] = active;
                edgeNext[edge] = next;
                edgeNextFrame[edge] = nextFrame;
                lastBeacon[edge] = frame;
            } else if (edgeNext[edge] != edgeActive[edge] && frame >= edgeNextFrame[edge]) {
                edgeActive[edge] = edgeNext[edge];
            }
        }
    }

    private boolean isSentBeacon(Edge to) {
        return tables.entries(network.master().device()).stream().anyMatch(entry -> entry.action().equals("send_commit")
                && entry.matchValue("core").orElse(-1) == network.core().id().value()
                && entry.matchValue("slot").orElse(-1) == network.signalingSlot(to)
                && entry.params().get("edge") == to.id().value());
    }

    /** Whether an edge may open data gates. */
    boolean isLit(int edge) {
        return frame - lastBeacon[edge] <= network.beaconHoldFrames();
    }

    void runFrames(int frames) {
        for (int i = 0; i < frames; i++) {
            runFrame();
        }
    }

    private void request(int index) {
        Edge edge = network.edges().get(index);
        for (int block = 0; block < network.requestBlocks(); block++) {
            RequestMessage message =
                    new RequestMessage(edge.id().value()).frame(frame).versions(edgeActive[index], edgeNext[index])
                            .block(network.firstRequestBlock() + block);
            for (int to = 0; to < network.edges().size(); to++) {
                int first = (network.firstRequestBlock() + block) * WireConstants.REQUEST_ENTRIES;
                int entry = network.queue(network.edges().get(to)) - first;
                if (entry >= 0 && entry < WireConstants.REQUEST_ENTRIES) {
                    message.backlog(entry, backlog[index][to]).arrived(entry, arrived[index][to] & 0xffff_ffffL);
                }
            }
            // What an edge itself says names its star; light does not.
            boolean isMaster = edge == network.master();
            message.core(isMaster ? network.core().id().value() : 0);
            int port = isMaster ? WireConstants.PORT_LINECARD : network.master().fibre().port();
            deliver(new Event.PacketIn(network.master().device(), port, message.encode()));
        }
    }

    /** Every slot that an edge uses is connected at the core, to the right port, and never two from one port, or to one. */
    private void checkSchedule() {
        for (int slot = network.firstDataSlot(); slot < network.frame().slots(); slot++) {
            Set<Long> inputs = new HashSet<>();
            Set<Long> outputs = new HashSet<>();
            for (int input = 0; input < network.edges().size(); input++) {
                long queue = granted(slot, input);
                if (queue < 0 || !isLit(input)) {
                    continue;
                }
                long from = corePort(network.edges().get(input));
                TableEntry connection = tables.get(network.core().device(),
                        "crossbar[bank=" + (active & 1) + ", input=" + from + ", slot=" + slot + "]");
                long port = connection == null ? -1 : connection.params().get("port");
                Edge to = network.edges().stream().filter(edge -> network.queue(edge) == queue).findFirst().orElseThrow();
                assertEquals(corePort(to), port, "edge and core disagree on a slot in force");
                assertTrue(inputs.add(from), "two from one input");
                assertTrue(outputs.add(port), "two to one output");
            }
        }
    }

    private long corePort(Edge edge) {
        return (long) WireConstants.PORT_OPTICAL_BASE + edge.corePort(network.core().id());
    }

    private long granted(int slot, int edge) {
        TableEntry grant = tables.get(network.edges().get(edge).device(), "slot_schedule[bank=" + (edgeActive[edge] & 1)
                + ", core=" + network.core().id() + ", slot=" + slot + "]");
        return grant == null ? -1 : grant.params().get("queue");
    }

    /** Data slots of a frame that are granted in the bank in force. */
    int grantedSlots(int from, int to) {
        int slots = 0;
        for (int slot = network.firstDataSlot(); slot < network.frame().slots(); slot++) {
            slots += granted(slot, from) == network.queue(network.edges().get(to)) ? 1 : 0;
        }
        return slots;
    }

    TableEntry entry(DeviceId device, String key) {
        return tables.get(device, key);
    }
}
