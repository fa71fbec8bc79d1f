// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.tables;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.systems.star.model.CorePorts;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;

/**
 * Reads the data part of a schedule back from the tables of a star's switches. Connections of the core count; but it
 * knows ports only, so where edges share one, an edge's slots tell which of them sends, and to whom. Entries that name no
 * slot, port or queue of this network, that no bufferless core could obey, or that leave open who sends are left out.
 */
public final class ScheduleReader {
    private static final long NO_QUEUE = -1;

    private final Network network;
    private final CorePorts ports;

    /** Takes the star. */
    public ScheduleReader(Network network) {
        this.network = network;
        this.ports = network.corePorts();
    }

    /**
     * Reads one bank.
     *
     * @param core the core's entries
     * @param edges the entries of an edge, by place
     */
    public FrameSchedule read(List<TableEntry> core, IntFunction<List<TableEntry>> edges, int bank) {
        FrameSchedule.Builder schedule = new FrameSchedule.Builder(network.edges().size(), network.dataSlots());
        long[][] queues = ports.areShared() ? queues(edges, bank) : new long[0][];
        for (TableEntry entry : core) {
            if (!entry.table().equals(SwitchRules.CROSSBAR) || !SwitchRules.inBank(entry, bank)) {
                continue;
            }
            long slot = entry.matchValue(SwitchRules.SLOT).orElse(-1) - network.firstDataSlot();
            int input = place(entry.matchValue(SwitchRules.INPUT).orElse(-1));
            int output = place(entry.params().getOrDefault(SwitchRules.PORT, -1L));
            if (slot < 0 || slot >= network.dataSlots() || input < 0 || output < 0) {
                continue;
            }
            if (!ports.isShared(input) && !ports.isShared(output)) {
                schedule.connectIfFree((int) slot, ports.edgeAt(input, 0), ports.edgeAt(output, 0));
            } else {
                connectSender(schedule, (int) slot, input, output, queues);
            }
        }
        return schedule.build();
    }

    /** Connects the only edge of a port whose slot is for an edge of another one. */
    private void connectSender(FrameSchedule.Builder schedule, int slot, int input, int output, long[][] queues) {
        int from = -1;
        int to = -1;
        int senders = 0;
        for (int i = 0; i < ports.edgesAt(input); i++) {
            for (int j = 0; j < ports.edgesAt(output); j++) {
                if (queues[ports.edgeAt(input, i)][slot] == network.queue(network.edges().get(ports.edgeAt(output, j)))) {
                    from = ports.edgeAt(input, i);
                    to = ports.edgeAt(output, j);
                    senders++;
                }
            }
        }
        if (senders == 1) {
            schedule.connectIfFree(slot, from, to);
        }
    }

    /** The queue that each edge opens, by edge and data slot. */
    private long[][] queues(IntFunction<List<TableEntry>> edges, int bank) {
        long[][] queues = new long[network.edges().size()][network.dataSlots()];
        for (int edge = 0; edge < queues.length; edge++) {
            Arrays.fill(queues[edge], NO_QUEUE);
            for (TableEntry entry : edges.apply(edge)) {
                boolean ofStar = entry.matchValue(SwitchRules.CORE).orElse(-1) == network.core().id().value();
                long slot = entry.matchValue(SwitchRules.SLOT).orElse(-1) - network.firstDataSlot();
                if (entry.table().equals(SwitchRules.SLOT_SCHEDULE) && SwitchRules.inBank(entry, bank) && ofStar
                        && slot >= 0 && slot < network.dataSlots()) {
                    queues[edge][(int) slot] = entry.params().getOrDefault(SwitchRules.QUEUE, NO_QUEUE);
                }
            }
        }
        return queues;
    }

    /** Place of a port of the core; -1 if no edge is there. */
    private int place(long port) {
        for (int place = 0; place < ports.count(); place++) {
            if (SwitchRules.corePort(network, network.edges().get(ports.edgeAt(place, 0))) == port) {
                return place;
            }
        }
        return -1;
    }
}
