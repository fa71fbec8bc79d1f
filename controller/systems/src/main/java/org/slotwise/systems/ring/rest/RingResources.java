// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.PathMetrics;
import org.slotwise.rest.system.Ports;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.rest.json.Shape;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

/** Stations of a packet ring, its ways and congested spans, and what can be changed while it runs. */
final class RingResources {
    private static final Shape<SwitchPort> PORT = Ports.at(WireConstants.PORT_RING_EAST, WireConstants.PORT_RING_WEST);
    /** The name that all settings of a ring have in notices and in the audit log. */
    private static final String EVENT = "ring";

    private RingResources() {
    }

    static ResourceTable<RingView> of(RingNetwork network) {
        return new ResourceTable<RingView>(FairnessApp.ID, "Packet ring: stations, paths, congestion domains, weights and classes.")
                .read("status", RingViews.STATUS).text("status", RingTexts::status)
                .read("stations", RingViews.STATIONS).text("stations", RingTexts::stations)
                .read("links", RingViews.LINKS)
                .read("ways", RingViews.WAYS)
                .read("spans", RingViews.SPANS).text("spans", RingTexts::spans)
                .setting("mode", mode(network))
                .setting("weights", "weights", each(network, "weight", "the weight of a station", RingCodec.WEIGHT, Station::weight, StationSettings::weight,
                        (station, weight) -> Event.Call.of((FairnessApp app) -> app.setWeight(station.device(), weight))))
                .setting("classes", "stations", each(network, "classes", "the classes of a station", RingCodec.RULES, Station::rules, StationSettings::rules,
                        RingResources::classes))
                .setting("ports", "ports", Ports.light(PORT, ports(network), RingResources::isDark)
                        .unknown(at -> "no ring link at " + at))
                .metrics(RingResources::metrics);
    }

    private static SystemSetting<RingView, String, RingMode> mode(RingNetwork network) {
        return SystemSetting.one("mode", "the fairness mode", RingCodec.MODE, network.mode(), RingView::mode,
                mode -> Event.Call.of((FairnessApp app) -> app.setMode(mode))).event(EVENT);
    }

    /** Returns a setting of each station. */
    private static <T> SystemSetting<RingView, DeviceId, T> each(RingNetwork network, String name, String title, Shape<T> shape,
            Function<Station, T> configured, Function<StationSettings, T> now, BiFunction<Station, T, Event.Order> order) {
        Map<DeviceId, T> before = new LinkedHashMap<>();
        network.stations().forEach(station -> before.put(station.device(), configured.apply(station)));
        return SystemSetting.<RingView, DeviceId, T>each(name, title, Ports.DEVICE, shape, before, view -> {
            Map<DeviceId, T> values = new LinkedHashMap<>();
            for (int number = 0; number < view.stations().size(); number++) {
                values.put(network.stations().get(number).device(), now.apply(view.stations().get(number).settings()));
            }
            return values;
        }, (device, value) -> order.apply(network.stations().get(network.number(device).orElseThrow()), value))
                .event(EVENT).unknown(device -> "unknown station " + device);
    }

    private static Event.Order classes(Station station, List<TrafficRule> rules) {
        TrafficRule.check("classes", rules, station.hostPorts());
        return Event.Call.of((FairnessApp app) -> app.setClasses(station, rules));
    }

    private static List<SwitchPort> ports(RingNetwork network) {
        List<SwitchPort> ports = new ArrayList<>();
        for (int number = 0; number < network.stations().size(); number++) {
            DeviceId device = network.stations().get(number).device();
            network.ringPorts(number).forEach(port -> ports.add(new SwitchPort(device, port)));
        }
        return ports;
    }

    private static boolean isDark(RingView view, SwitchPort port) {
        return view.stations().get(view.network().number(port.device()).orElseThrow()).darkPorts().contains(port.port());
    }

    private static List<Metric> metrics(RingView view) {
        RingView.Counts counts = view.counts();
        List<Metric> metrics = PathMetrics.of(FairnessApp.ID, "stations", "Stations", "Ring paths", view.stations(), counts.reroutes(),
                counts.writeFailures());
        metrics.add(Metric.counter("ring_reports", "Reports of congested links accepted.", counts.reports()));
        metrics.add(Metric.refused("ring_reports_refused", "Reports rejected, by reason.", counts.refused()));
        metrics.add(Metric.counter("ring_messages", "Rate advertisements sent.", counts.messages()));
        metrics.add(Metric.gauge("ring_spans", "Congestion domains: links reported as congested or recovering.", view.spans().size()));
        return metrics;
    }
}
