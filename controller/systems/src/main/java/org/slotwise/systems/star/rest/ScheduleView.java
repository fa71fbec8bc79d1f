// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.Ports;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;

/** Active schedule as slot tables, one for each switch. */
final class ScheduleView {
    private static final View<String> USE = View.oneOf(Slot.SIGNALING, Slot.DATA).named("Use");
    private static final View.Fields<Slot> EDGE_SLOT = View.<Slot>object()
            .field("slot", StarViews.SLOT, slot -> slot.number)
            .field("use", USE, slot -> slot.use)
            .field("to", StarViews.EDGE_ID, slot -> slot.connections.get(0).getValue().id());
    private static final View.Fields<Slot> CORE_SLOT = View.<Slot>object()
            .field("slot", StarViews.SLOT, slot -> slot.number)
            .field("use", USE, slot -> slot.use)
            .field("connections", View.list(View.<Map.Entry<Edge, Edge>>object()
                    .field("from", StarViews.EDGE_ID, connection -> connection.getKey().id())
                    .field("to", StarViews.EDGE_ID, connection -> connection.getValue().id())), slot -> slot.connections);
    private static final View.Fields<EdgeTable> EDGE = View.<EdgeTable>object()
            .field("edge", StarViews.EDGE_ID, table -> table.edge.id())
            .optional("core", StarViews.CORE_ID.described("Core of the star; with several cores an edge has one entry per core."), table -> table.core)
            .field("device_id", Ports.ID, table -> table.edge.device())
            .field("slots", View.list(EDGE_SLOT), table -> table.slots);
    private static final View.Fields<CoreTable> CORE = View.<CoreTable>object()
            .field("core", StarViews.CORE_ID, table -> table.star.network().core().id())
            .optional("version", StarViews.VERSION.described("Version of the star; with several cores only."), table -> table.ifOneOf(StarViews.version(table.star)))
            .optional("bank", StarViews.BANK.described("Bank of the star; with several cores only."), table -> table.ifOneOf(StarViews.bank(table.star)))
            .field("device_id", Ports.ID, table -> table.star.network().core().device())
            .field("slots", View.list(CORE_SLOT), table -> table.slots);
    /** Slot tables of edges and cores. */
    static final View.Fields<Snapshot> SCHEDULE = View.<Snapshot>object("Active schedule as slot tables of the switches")
            .all(StarViews.VERSIONS, snapshot -> snapshot)
            .field("slots", View.COUNT, snapshot -> snapshot.network().frame().slots())
            .field("first_data_slot", StarViews.SLOT, snapshot -> snapshot.network().firstDataSlot())
            .field("edges", View.list(EDGE), snapshot -> snapshot.states().stream().flatMap(star -> IntStream.range(0, star.network().edges().size())
                    .mapToObj(edge -> new EdgeTable(snapshot, star, edge))).collect(Collectors.toList()))
            .field("cores", View.list(CORE), snapshot -> snapshot.states().stream()
                    .map(star -> new CoreTable(snapshot, star)).collect(Collectors.toList()));

    private ScheduleView() {
    }

    private static final class Slot {
        static final String SIGNALING = "signaling";
        static final String DATA = "data";
        private final int number;
        private final String use;
        private final List<Map.Entry<Edge, Edge>> connections;

        Slot(int number, String use, List<Map.Entry<Edge, Edge>> connections) {
            this.number = number;
            this.use = use;
            this.connections = connections;
        }
    }

    private static final class EdgeTable {
        private final Optional<CoreId> core;
        private final Edge edge;
        private final List<Slot> slots = new ArrayList<>();

        EdgeTable(Snapshot whole, Snapshot star, int input) {
            Network network = star.network();
            this.core = StarViews.coreOf(whole, star);
            this.edge = network.edges().get(input);
            Edge master = network.master();
            for (Edge slave : slaves(network)) {
                if (edge == slave || edge == master) {
                    Edge to = edge == slave ? master : slave;
                    slots.add(new Slot(network.signalingSlot(slave), Slot.SIGNALING, List.of(Map.entry(edge, to))));
                }
            }
            for (int slot = 0; slot < star.schedule().slots(); slot++) {
                int output = star.schedule().output(slot, input);
                if (output >= 0) {
                    slots.add(new Slot(network.firstDataSlot() + slot, Slot.DATA, List.of(Map.entry(edge, network.edges().get(output)))));
                }
            }
        }
    }

    private static final class CoreTable {
        private final boolean isOneOfSeveral;
        private final Snapshot star;
        private final List<Slot> slots = new ArrayList<>();

        CoreTable(Snapshot whole, Snapshot star) {
            this.isOneOfSeveral = !whole.stars().isEmpty();
            this.star = star;
            Network network = star.network();
            for (Edge slave : slaves(network)) {
                slots.add(new Slot(network.signalingSlot(slave), Slot.SIGNALING,
                        List.of(Map.entry(slave, network.master()), Map.entry(network.master(), slave))));
            }
            for (int slot = 0; slot < star.schedule().slots(); slot++) {
                List<Map.Entry<Edge, Edge>> connections = new ArrayList<>();
                for (int input = 0; input < star.schedule().edges(); input++) {
                    int output = star.schedule().output(slot, input);
                    if (output >= 0) {
                        connections.add(Map.entry(network.edges().get(input), network.edges().get(output)));
                    }
                }
                slots.add(new Slot(network.firstDataSlot() + slot, Slot.DATA, connections));
            }
        }

        <X> Optional<X> ifOneOf(X value) {
            return isOneOfSeveral ? Optional.of(value) : Optional.empty();
        }
    }

    /** Returns the edges that have signaling slots. */
    private static List<Edge> slaves(Network network) {
        return network.hasSignalingSlots() ? network.edges().stream().filter(edge -> edge != network.master()).collect(Collectors.toList()) : List.of();
    }
}
