// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.Ports;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsSwitch;
import org.slotwise.wire.WireConstants;

/** Views of optical packet switches and their edges. */
final class OpsViews {
    /** The network as a whole. */
    static final View.Fields<LabelView> STATUS = View.<LabelView>object("Status of the optical packet switches")
            .field("configured", View.FLAG, LabelView::isConfigured)
            .field("name", View.TEXT, view -> view.network().name())
            .field("switches", View.COUNT, view -> view.network().switches().size())
            .field("switches_ready", View.COUNT, view -> ready(view, view.network().switchDevices()))
            .field("edges", View.COUNT, view -> view.network().edges().size())
            .field("edges_ready", View.COUNT, view -> ready(view, view.network().edgeDevices()))
            .field("links", View.COUNT, view -> view.network().links().size())
            .field("reroutes", View.COUNT.described("Label routes changed by fibres going down or up."), LabelView::reroutes)
            .field("write_failures", View.COUNT, LabelView::writeFailures);
    private static final int MAX_NEXT_HOPS = 4;
    private static final View<Number> FIBRE = View.integer(0, OpsNetwork.MAX_FIBRE);
    private static final View.Fields<Map.Entry<Node, LabelView.NodeView>> NODE = View.<Map.Entry<Node, LabelView.NodeView>>object()
            .field("name", View.TEXT, node -> node.getKey().name())
            .field("device_id", Ports.ID, node -> node.getKey().device())
            .field("program", View.oneOf(OpsNetwork.PROGRAM, OpsNetwork.EDGE_PROGRAM), node -> node.getKey().program())
            .field("ready", View.FLAG, node -> node.getValue().isReady())
            .field("settled", View.FLAG.described("If true, the node acknowledged all table entries."), node -> node.getValue().isSettled())
            .field("dark_ports", View.list(View.integer(WireConstants.PORT_OPTICAL_BASE, WireConstants.PORT_OPTICAL_BASE + WireConstants.MAX_FIBRES - 1)),
                    node -> node.getValue().darkPorts());
    /** Switches and edges. */
    static final View.Fields<LabelView> NODES = View.<LabelView>object("Switches, then edges")
            .field("nodes", View.list(NODE), view -> view.network().topology().nodes().stream()
                    .map(node -> Map.entry(node, view.nodes().get(node.device()))).collect(Collectors.toList()));
    private static final View.Fields<Map.Entry<Integer, List<Integer>>> ROUTE = View.<Map.Entry<Integer, List<Integer>>>object()
            .field("edge", FIBRE, Map.Entry::getKey)
            .field("fibres", View.list(FIBRE).items(1, MAX_NEXT_HOPS), Map.Entry::getValue);
    private static final View.Fields<Map.Entry<OpsSwitch, LabelView.NodeView>> SWITCH = View.<Map.Entry<OpsSwitch, LabelView.NodeView>>object()
            .field("name", View.TEXT, node -> node.getKey().name())
            .field("device_id", Ports.ID, node -> node.getKey().device())
            .field("routes", View.list(ROUTE).described("No entry for an unreachable edge."), node -> node.getValue().routes().entrySet());
    /** Next fibres of each switch to each edge. */
    static final View.Fields<LabelView> ROUTES = View.<LabelView>object("Ranked next hops (fibres) of each switch to each edge, the primary one first")
            .field("switches", View.list(SWITCH), view -> view.network().switches().stream()
                    .map(each -> Map.entry(each, view.nodes().get(each.device()))).collect(Collectors.toList()));

    private OpsViews() {
    }

    private static long ready(LabelView view, Collection<DeviceId> devices) {
        return devices.stream().filter(device -> view.nodes().get(device).isReady()).count();
    }
}
