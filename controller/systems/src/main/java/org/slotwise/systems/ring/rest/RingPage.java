// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.AppPage.Condition;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.app.Span;
import org.slotwise.systems.ring.model.RingLink;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.wire.WireConstants;

/** What a packet ring says on the live page. */
final class RingPage {
    private RingPage() {
    }

    static AppPage of(RingView view) {
        RingNetwork network = view.network();
        AppPage page = new AppPage("ring").table("links");
        page.says("ring mode", Condition.CHOSEN, "fairness mode " + view.mode().name().toLowerCase(Locale.ROOT).replace('_', '-'));
        for (int number = 0; number < network.stations().size(); number++) {
            Station station = network.stations().get(number);
            RingView.StationView shown = view.stations().get(number);
            page.switchIs(station.name(), shown.isReady());
            page.says("weight " + station.name(), Condition.CHOSEN, station.name() + " has weight " + shown.settings().weight());
            for (int ringlet = 0; ringlet < WireConstants.RINGLETS; ringlet++) {
                Optional<RingLink> link = network.linkOut(number, ringlet);
                if (link.isPresent()) {
                    link(page, view, link.get(), number, ringlet);
                }
            }
        }
        return page;
    }

    private static void link(AppPage page, RingView view, RingLink link, int station, int ringlet) {
        String name = view.network().stations().get(station).name() + "/" + ringlet;
        int port = ringlet == 0 ? WireConstants.PORT_RING_EAST : WireConstants.PORT_RING_WEST;
        boolean hasLight = !view.stations().get(station).darkPorts().contains(port);
        Optional<Span> span = view.spans().stream().filter(one -> one.head() == station && one.ringlet() == ringlet).findFirst();
        page.portIs(name, hasLight).row("links", name, Map.of("light", hasLight ? 1 : 0, "limit_bps", limitBps(view, link, station, ringlet),
                "active_stations", span.map(one -> one.sourcesBps().size()).orElse(0), "congested_bps", span.map(Span::linkBps).orElse(0L)));
    }

    /** The lowest rate that the spans which a station is of let it add, by its weight; at most the link's. */
    private static long limitBps(RingView view, RingLink link, int station, int ringlet) {
        long weight = view.stations().get(station).settings().weight();
        return view.spans().stream()
                .filter(span -> span.ringlet() == ringlet && view.network().hops(station, span.head(), ringlet) <= span.reach())
                .flatMap(span -> span.advertisedBps().stream().boxed()).map(bps -> bps * weight)
                .reduce(link.rateBps(), Math::min);
    }
}
