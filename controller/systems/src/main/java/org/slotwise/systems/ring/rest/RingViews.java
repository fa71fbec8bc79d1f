// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.Ports;
import org.slotwise.systems.ring.app.ReportRefusal;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.app.Span;
import org.slotwise.systems.ring.model.RingLink;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.systems.ring.model.Way;
import org.slotwise.wire.Limits;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.WireConstants;

/** Views of a packet ring. */
final class RingViews {
    private static final int MAX_STATION = 254;
    private static final View<Number> NUMBER = View.integer(0, MAX_STATION);
    private static final View<Number> RINGLET = View.integer(0, 1);
    /** The ring as a whole. */
    static final View.Fields<RingView> STATUS = View.<RingView>object("Status of the packet ring")
            .field("configured", View.FLAG, RingView::isConfigured)
            .field("name", View.TEXT, view -> view.network().name())
            .field("mode", View.oneOf(JsonFields::spelled, RingMode.values()), RingView::mode)
            .field("stations", View.COUNT, view -> view.stations().size())
            .field("stations_ready", View.COUNT, view -> view.stations().stream().filter(RingView.StationView::isReady).count())
            .field("links", View.COUNT, view -> view.network().links().size())
            .field("reroutes", View.COUNT.described("Ring paths changed by links going down or up."), view -> view.counts().reroutes())
            .field("write_failures", View.COUNT, view -> view.counts().writeFailures())
            .field("reports", View.COUNT.described("Accepted reports of congested links; 0 in modes other than controller."), view -> view.counts().reports())
            .field("messages", View.COUNT.described("Rate advertisements sent."), view -> view.counts().messages())
            .field("reports_refused", View.counts(ReportRefusal.values()).described("Rejected reports, by reason."), view -> view.counts().refused());
    private static final View.Fields<At> STATION = View.<At>object()
            .field("station", NUMBER, at -> at.number)
            .field("name", View.TEXT, at -> at.station.name())
            .field("device_id", Ports.ID, at -> at.station.device())
            .field("ready", View.FLAG.described("If true, the station is connected."), at -> at.shown.isReady())
            .field("settled", View.FLAG.described("If true, the station acknowledged all table entries."), at -> at.shown.isSettled())
            .field("weight", View.integer(Limits.MIN_RING_WEIGHT, Limits.MAX_RING_WEIGHT), at -> at.shown.settings().weight())
            .field("hosts", View.COUNT, at -> at.station.hosts().size())
            .field("dark_ports", View.list(View.INTEGER), at -> at.shown.darkPorts());
    /** Stations, by number. */
    static final View.Fields<RingView> STATIONS = View.<RingView>object("Stations, in the order of ringlet 0")
            .field("stations", View.list(STATION), RingViews::stations);
    private static final View.Fields<Map.Entry<Integer, Way>> WAY = View.<Map.Entry<Integer, Way>>object()
            .field("to", NUMBER, Map.Entry::getKey)
            .field("ringlet", RINGLET, way -> way.getValue().ringlet())
            .field("hops", View.integer(1, MAX_STATION), way -> way.getValue().hops());
    /** Paths from each station to the others. */
    static final View.Fields<RingView> WAYS =
            View.<RingView>object("Paths to each station: the shorter ringlet without a failed link, else the other one")
            .field("stations", View.list(View.<At>object().field("station", NUMBER, at -> at.number)
                    .field("ways", View.list(WAY), at -> at.shown.ways().entrySet())), RingViews::stations);
    private static final View.Fields<Map.Entry<Integer, OptionalLong>> SOURCE = View.<Map.Entry<Integer, OptionalLong>>object()
            .field("station", NUMBER, Map.Entry::getKey)
            .optionalNumber("rate_bps", View.COUNT.described("Rate of fair traffic of this station on the link in its last active window, bit/s;"
                    + " omitted if unknown or already exceeded in the current window."), Map.Entry::getValue);
    private static final View.Fields<Span> SPAN = View.<Span>object()
            .field("head", NUMBER.described("Station before the link."), Span::head)
            .field("ringlet", RINGLET, Span::ringlet)
            .field("phase", View.oneOf(JsonFields::spelled, RingPhase.values()), Span::phase)
            .field("reach", NUMBER.described("Hops to the head from the farthest station of the congestion domain."), Span::reach)
            .optionalNumber("advertised_bps", View.integer(8).described("Advertised add rate per unit of weight, bit/s; omitted if unlimited."),
                    Span::advertisedBps)
            .field("link_bps", View.COUNT.described("Estimated throughput of the link, bit/s."), Span::linkBps)
            .field("added_bps", View.COUNT.described("Estimated add rate of the head, bit/s."), Span::addedBps)
            .field("hol_delay_ns", View.COUNT.described("Longest head-of-line delay of add traffic in an interval, ns."), Span::holDelayNs)
            .field("sources", View.list(SOURCE), span -> span.sourcesBps().entrySet());
    /** Links that are congested or recover. */
    static final View.Fields<RingView> SPANS = View.<RingView>object("Congestion domains: congested or recovering links, as last reported by their heads;"
            + " in modes other than controller, only with watch_intervals")
            .field("spans", View.list(SPAN), RingView::spans);
    private static final View.Fields<Out> LINK = View.<Out>object()
            .field("station", NUMBER.described("Station before the link."), out -> out.station)
            .field("ringlet", RINGLET, out -> out.ringlet)
            .field("up", View.FLAG, Out::isUp)
            .field("rate_bps", View.COUNT, out -> out.link.rateBps())
            .field("add_limit_bps", View.COUNT.described("Add rate limit of the station: the lowest one of its congestion domains, at most the link's rate."),
                    Out::limitBps);
    /** Links, and what their stations may add. */
    static final View.Fields<RingView> LINKS = View.<RingView>object("Links and add rate limits, by station and ringlet")
            .field("links", View.list(LINK), RingViews::links);
    /** Classes of a station. */
    static final View<Iterable<? extends TrafficRule>> RULES = View.list(View.<TrafficRule>object()
            .field("port", View.integer(Limits.MIN_RING_PORT, Limits.MAX_RING_PORT), TrafficRule::port)
            .field("dscp", View.integer(0, TrafficRule.MAX_DSCP), TrafficRule::dscp)
            .field("class", View.oneOf(JsonFields::spelled, RingCodec.HOST_CLASSES), TrafficRule::trafficClass)
            .field("rate_bps", View.integer(Limits.MIN_CLASS_RATE_BPS, Limits.MAX_CLASS_RATE_BPS), TrafficRule::rateBps))
            .items(Limits.MIN_TRAFFIC_RULES, Limits.MAX_TRAFFIC_RULES)
            .described("All classes of a station; unclassified traffic is best effort without a limit.");

    private RingViews() {
    }

    /** A station and its view. */
    private static final class At {
        private final int number;
        private final Station station;
        private final RingView.StationView shown;

        At(RingView view, int number) {
            this.number = number;
            this.station = view.network().stations().get(number);
            this.shown = view.stations().get(number);
        }
    }

    /** Link out of a station along a ringlet. */
    private static final class Out {
        private final RingView view;
        private final int station;
        private final int ringlet;
        private final RingLink link;

        Out(RingView view, int station, int ringlet, RingLink link) {
            this.view = view;
            this.station = station;
            this.ringlet = ringlet;
            this.link = link;
        }

        boolean isUp() {
            return !view.stations().get(station).darkPorts().contains(ringlet == 0 ? WireConstants.PORT_RING_EAST : WireConstants.PORT_RING_WEST);
        }

        long limitBps() {
            long weight = view.stations().get(station).settings().weight();
            return view.spans().stream()
                    .filter(span -> span.ringlet() == ringlet && view.network().hops(station, span.head(), ringlet) <= span.reach())
                    .flatMap(span -> span.advertisedBps().stream().boxed()).map(bps -> bps * weight)
                    .reduce(link.rateBps(), Math::min);
        }
    }

    private static List<Out> links(RingView view) {
        List<Out> links = new ArrayList<>();
        for (int number = 0; number < view.stations().size(); number++) {
            int station = number;
            for (int ringlet = 0; ringlet < WireConstants.RINGLETS; ringlet++) {
                int along = ringlet;
                view.network().linkOut(station, ringlet).ifPresent(link -> links.add(new Out(view, station, along, link)));
            }
        }
        return links;
    }

    private static List<At> stations(RingView view) {
        return IntStream.range(0, view.stations().size()).mapToObj(number -> new At(view, number)).collect(Collectors.toList());
    }
}
