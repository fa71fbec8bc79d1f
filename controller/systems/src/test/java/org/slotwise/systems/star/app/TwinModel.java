// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.WireConstants;

/** Overlaid stars over the same edges, each a {@link StarModel}, and one controller of all. */
class TwinModel {
    final Network network;
    final SwitchTables tables;
    final List<StarModel> stars = new ArrayList<>();
    final OverlaidStars controller;
    final List<String> writes = new ArrayList<>();
    /** Stars whose requests do not come: the core is dark, or the master is silent. */
    final boolean[] dark;
    long nowNs;

    TwinModel(Network network, SchedulerChosen scheduler) {
        this.network = network;
        this.tables = new SwitchTables(network.devices());
        this.controller = new OverlaidStars(network, scheduler, () -> 0);
        this.dark = new boolean[network.stars().size()];
        network.stars().forEach(star -> stars.add(new StarModel(star, tables, this::deliver)));
    }

    void start() {
        network.devices().forEach(this::ready);
    }

    void ready(DeviceId device) {
        deliver(new Event.DeviceReady(device, tables.entries(device)));
    }

    void lose(DeviceId device) {
        deliver(new Event.DeviceLost(device));
    }

    void deliver(Event event) {
        for (Command command : controller.onEvent(nowNs, event)) {
            if (command instanceof Command.Write) {
                write((Command.Write) command);
            } else if (command instanceof Command.ReadTables) {
                read(((Command.ReadTables) command).device());
            } else if (command instanceof Command.PacketOut) {
                Command.PacketOut packet = (Command.PacketOut) command;
                stars.stream().filter(star -> star.network.master().device().equals(packet.device()))
                        .findFirst().orElseThrow().packetOut(packet);
            }
        }
    }

    /** The switch obeys at once. */
    void write(Command.Write write) {
        apply(write.device(), write.updates());
        deliver(new Event.WriteDone(write.device(), write.batch()));
    }

    /** A test that wants it calls {@link #ready}. */
    void read(DeviceId device) {
    }

    final void apply(DeviceId device, List<Update> updates) {
        for (Update update : updates) {
            writes.add(device + " " + update);
            for (StarModel star : stars) {
                boolean isCore = device.equals(star.network.core().device());
                OptionalLong core = update.entry().matchValue("core");
                if (isCore || core.isPresent() && core.getAsLong() == star.network.core().id().value()) {
                    star.checkNotInForce(device, update);
                }
            }
            tables.apply(device, update);
        }
    }

    void runFrames(int frames) {
        for (int i = 0; i < frames; i++) {
            nowNs += network.frame().frameNs();
            for (int star = 0; star < stars.size(); star++) {
                if (!dark[star]) {
                    stars.get(star).beginFrame();
                }
            }
            long endNs = nowNs + network.frame().frameNs();
            OptionalLong deadline = controller.nextDeadlineNs();
            while (deadline.isPresent() && deadline.getAsLong() < endNs) {
                nowNs = Math.max(nowNs, deadline.getAsLong());
                deliver(new Event.DeadlineReached());
                deadline = controller.nextDeadlineNs();
                assertTrue(deadline.isEmpty() || deadline.getAsLong() > nowNs, "a deadline that is over");
            }
            nowNs = endNs - network.frame().frameNs();
        }
    }

    /** Parts of what an edge has for another that its tables send to each star; each to the star's own queue. */
    int[] parts(int from, int to) {
        int[] counts = new int[stars.size()];
        DeviceId device = network.edges().get(from).device();
        for (int part = 0; part < WireConstants.SHARES; part++) {
            TableEntry entry = tables.get(device, "voq_share[part=" + part + ", shares=" + to + "]");
            int core = (int) (entry.params().get("port") - WireConstants.PORT_OPTICAL_BASE);
            assertEquals(core * network.edges().size() + to, entry.params().get("queue").intValue());
            counts[core]++;
        }
        return counts;
    }

    /** What waits at an edge for another in each star, spread as the parts are. */
    void setBacklog(int from, int to, long bytes) {
        int[] parts = parts(from, to);
        for (int star = 0; star < stars.size(); star++) {
            StarModel model = stars.get(star);
            int i = place(model.network, from);
            int j = place(model.network, to);
            model.backlog[i][j] = bytes * parts[star] / WireConstants.SHARES;
        }
    }

    private int place(Network star, int edge) {
        Edge wanted = network.edges().get(edge);
        return star.indexOf(wanted.id()).orElseThrow();
    }
}
