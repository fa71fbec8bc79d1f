// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;
import org.slotwise.core.wire.CommitHeader;
import org.slotwise.core.wire.EthernetHeader;
import org.slotwise.core.wire.OpticalHeader;
import org.slotwise.core.wire.WireConstants;

/**
 * The switches of a star as far as a controller sees them: tables, versions, commits, requests. Strict: an update
 * that a switch would refuse fails the test, and so does one that touches the data slots of the bank in force.
 */
final class StarModel {
    final Network network;
    final List<String> deviceWriteOrder = new ArrayList<>();
    final List<Command.PacketOut> packetOuts = new ArrayList<>();
    final List<Command.ScheduleInForce> inForce = new ArrayList<>();
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
    private final Map<DeviceId, Map<String, TableEntry>> tables = new TreeMap<>();
    private Controller controller;
    private long nowNs;

    StarModel(Network network) {
        this.network = network;
        int edges = network.edges().size();
        this.backlog = new long[edges][edges];
        this.arrived = new long[edges][edges];
        devices().forEach(device -> tables.put(device, new TreeMap<>()));
    }

    /** Attaches a controller, which finds the tables as they are. */
    void attach(Controller newController) {
        controller = newController;
        heldWrites.clear();
        devices().forEach(this::ready);
    }

    void ready(DeviceId device) {
        deliver(new Event.DeviceReady(device, new ArrayList<>(tables.get(device).values())));
    }

    private List<DeviceId> devices() {
        List<DeviceId> devices = new ArrayList<>();
        network.edges().forEach(edge -> devices.add(edge.device()));
        devices.add(network.core().device());
        return devices;
    }

    void deliver(Event event) {
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
            } else {
                inForce.add((Command.ScheduleInForce) command);
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
        Map<String, TableEntry> table = tables.get(write.device());
        for (Update update : write.updates()) {
            TableEntry entry = update.entry();
            if (entry.isDefault()) {
                assertEquals(Update.Type.MODIFY, update.type());
                continue;
            }
            checkNotInForce(update);
            String key = entry.table() + entry.matches();
            TableEntry before = table.get(key);
            if (update.type() == Update.Type.INSERT) {
                assertNull(before, () -> "already there: " + entry);
            } else {
                assertNotNull(before, () -> "not there: " + entry);
                assertTrue(update.type() == Update.Type.DELETE || !before.equals(entry), () -> "no change: " + entry);
            }
            if (update.type() == Update.Type.DELETE) {
                table.remove(key);
            } else {
                table.put(key, entry);
            }
        }
    }

    private void checkNotInForce(Update update) {
        OptionalLong bank = update.entry().matchValue("bank");
        long slot = update.entry().matchValue("slot").orElse(0);
        if (bank.isPresent() && slot >= network.firstDataSlot()) {
            assertNotEquals(active & 1, bank.getAsLong(), () -> "bank in force changed: " + update);
            assertEquals(active, next, () -> "bank announced changed: " + update);
        }
    }

    private void packetOut(Command.PacketOut packet) {
        packetOuts.add(packet);
        assertEquals(network.master().device(), packet.device());
        assertEquals(WireConstants.PORT_SELF, packet.port());
        CommitHeader commit =
                CommitHeader.decode(packet.frame(), EthernetHeader.SIZE + OpticalHeader.SIZE).orElseThrow();
        assertNotEquals(active & 1, commit.nextVersion() & 1, "commit for the bank in force");
        if (!loseCommits) {
            stagedVersion = commit.nextVersion();
        }
    }

    /** One frame: flip, announce, requests in signaling order. */
    void runFrame() {
        frame++;
        nowNs += network.frame().frameNs();
        if (next != active && frame >= nextFrame) {
            active = next;
        }
        if (stagedVersion != null && next == active) {
            next = stagedVersion;
            nextFrame = frame + 1;
            stagedVersion = null;
        }
        checkSchedule();
        for (int edge = 0; edge < network.edges().size(); edge++) {
            if (edge != muteEdge) {
                request(edge);
            }
        }
        long end = nowNs + network.frame().frameNs();
        OptionalLong deadline = controller.nextDeadlineNs();
        if (deadline.isPresent() && deadline.getAsLong() < end) {
            nowNs = deadline.getAsLong();
            deliver(new Event.DeadlineReached());
        }
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
                    new RequestMessage(edge.id().value()).frame(frame).versions(active, next).block(block);
            for (int to = 0; to < network.edges().size(); to++) {
                int entry = network.edges().get(to).id().value() - block * WireConstants.REQUEST_ENTRIES;
                if (entry >= 0 && entry < WireConstants.REQUEST_ENTRIES) {
                    message.backlog(entry, backlog[index][to]).arrived(entry, arrived[index][to] & 0xffff_ffffL);
                }
            }
            int port = edge == network.master() ? WireConstants.PORT_LINECARD : network.master().fibre().port();
            deliver(new Event.PacketIn(network.master().device(), port, message.encode()));
        }
    }

    /** Every slot that an edge is granted in the bank in force is connected at the core, to the right edge. */
    private void checkSchedule() {
        long bank = active & 1;
        for (int input = 0; input < network.edges().size(); input++) {
            for (int slot = network.firstDataSlot(); slot < network.frame().slots(); slot++) {
                long queue = granted(bank, slot, input);
                TableEntry connection = tables.get(network.core().device()).get("crossbar[bank=" + bank + ", input="
                        + (WireConstants.PORT_OPTICAL_BASE + input) + ", slot=" + slot + "]");
                long port = connection == null ? -1 : connection.params().get("port");
                assertEquals(queue < 0 ? -1 : WireConstants.PORT_OPTICAL_BASE + queue, port,
                        "edge and core disagree on a slot in force");
            }
        }
    }

    private long granted(long bank, int slot, int edge) {
        TableEntry grant = tables.get(network.edges().get(edge).device())
                .get("slot_schedule[bank=" + bank + ", core=0, slot=" + slot + "]");
        return grant == null ? -1 : grant.params().get("queue");
    }

    /** Data slots of a frame that are granted in the bank in force. */
    int grantedSlots(int from, int to) {
        int slots = 0;
        for (int slot = network.firstDataSlot(); slot < network.frame().slots(); slot++) {
            slots += granted(active & 1, slot, from) == network.edges().get(to).id().value() ? 1 : 0;
        }
        return slots;
    }

    TableEntry entry(DeviceId device, String key) {
        return tables.get(device).get(key);
    }
}
