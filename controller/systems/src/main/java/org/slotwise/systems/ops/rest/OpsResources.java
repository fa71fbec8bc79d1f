// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.PathMetrics;
import org.slotwise.rest.system.Ports;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.control.Event;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.rest.json.Shape;
import org.slotwise.systems.ops.app.LabelApp;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.shared.model.TrafficClass;
import org.slotwise.wire.WireConstants;

/** Optical packet switches and their edges, where labels go, and what can be changed while they run. */
final class OpsResources {
    private static final Shape<SwitchPort> PORT =
            Ports.at(WireConstants.PORT_OPTICAL_BASE, WireConstants.PORT_OPTICAL_BASE + WireConstants.MAX_FIBRES - 1);
    private static final Shape<Double> TARGET = Shape.partAboveZero("target");
    private static final Shape<Integer> CLASS = Shape.integer("class", 0, TrafficClass.MAX_CLASS);
    private static final Shape<Double> WEIGHT = Shape.number("weight", TrafficClass.MIN_WEIGHT, TrafficClass.MAX_WEIGHT);

    private OpsResources() {
    }

    static ResourceTable<LabelView> of(OpsNetwork network) {
        return new ResourceTable<LabelView>(LabelApp.ID,
                "Optical packet switches: ranked next hops of labels, target utilization of outputs, weights of classes, port status.")
                .read("status", OpsViews.STATUS)
                .read("nodes", OpsViews.NODES)
                .read("routes", OpsViews.ROUTES)
                .setting("targets", "targets", SystemSetting.each("target", "the target utilization of an output", PORT, TARGET, configured(network),
                        OpsResources::targets, (at, target) -> Event.Call.of((LabelApp app) -> app.setTarget(at, target)))
                        .unavailable("agents require 'probes' without 'share'").unknown(at -> noAgent(network, at)))
                .setting("weights", "weights", SystemSetting.each("weight", "the weight of a class", CLASS, WEIGHT, weights(network),
                        LabelView::weights, (number, weight) -> Event.Call.of((LabelApp app) -> app.setWeight(number, weight)))
                        .unavailable("class weights require 'ingress: {discipline: fair, trains: 4}' and 'aggregation' in the scenario")
                        .unknown(number -> "unknown class " + number))
                .setting("ports", "ports", Ports.light(PORT, ports(network), OpsResources::isDark)
                        .unknown(at -> "no fibre at port " + at.port() + " of switch or edge " + at.device()))
                .metrics(OpsResources::metrics);
    }

    private static Map<SwitchPort, Double> configured(OpsNetwork network) {
        Map<SwitchPort, Double> targets = new LinkedHashMap<>();
        if (network.settings().hasAgents()) {
            network.switchDevices().forEach(device -> network.dataPorts(network.switchNumber(device).orElseThrow())
                    .forEach(port -> targets.put(new SwitchPort(device, port), network.settings().target())));
        }
        return targets;
    }

    private static Map<SwitchPort, Double> targets(LabelView view) {
        Map<SwitchPort, Double> targets = new LinkedHashMap<>();
        view.nodes().forEach((device, node) -> node.targets().forEach((port, target) -> targets.put(new SwitchPort(device, port), target)));
        return targets;
    }

    private static String noAgent(OpsNetwork network, SwitchPort at) {
        if (network.edgeNumber(at.device()).isPresent()) {
            return "no XCP agent at " + at + "; the device is an edge";
        }
        return network.switchNumber(at.device()).map(number -> "no XCP agent at " + at + "; expected one of " + network.dataPorts(number))
                .orElse("unknown switch " + at.device());
    }

    private static Map<Integer, Double> weights(OpsNetwork network) {
        return network.settings().traffic().isFair() ? network.settings().traffic().classes().values().stream()
                .collect(Collectors.toMap(TrafficClass::number, TrafficClass::weight, (one, other) -> other, TreeMap::new)) : Map.of();
    }

    private static List<SwitchPort> ports(OpsNetwork network) {
        List<SwitchPort> ports = new ArrayList<>();
        network.topology().nodes().forEach(node -> network.opticalPorts(node.device()).forEach(port -> ports.add(new SwitchPort(node.device(), port))));
        return ports;
    }

    private static boolean isDark(LabelView view, SwitchPort port) {
        return view.nodes().get(port.device()).darkPorts().contains(port.port());
    }

    private static List<Metric> metrics(LabelView view) {
        return PathMetrics.of(LabelApp.ID, "nodes", "Optical packet switches and edges", "Label routes", view.nodes().values(), view.reroutes(),
                view.writeFailures());
    }
}
