// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.slotwise.rest.json.View;
import org.slotwise.rest.system.Ports;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.Route;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.model.Routing;

/** Views of routers. */
final class RoutesViews {
    /** Routers as a whole. */
    static final View.Fields<RoutesView> STATUS = View.<RoutesView>object("Status of the routers")
            .field("configured", View.FLAG, RoutesView::isConfigured)
            .field("routers", View.COUNT, view -> view.routers().size())
            .field("routers_ready", View.COUNT, view -> view.routers().values().stream().filter(RoutesView.RouterView::isReady).count())
            .field("reroutes", View.COUNT.described("Routes changed by links going down or up."), RoutesView::reroutes)
            .field("write_failures", View.COUNT, RoutesView::writeFailures)
            .field("mode", View.oneOf(RoutesCodec.SHORTEST, RoutesCodec.STATIC),
                    view -> view.network().routing().metric().isPresent() ? RoutesCodec.SHORTEST : RoutesCodec.STATIC)
            .optional("metric", View.oneOf(View::lower, Routing.Metric.values()), view -> view.network().routing().metric());
    private static final View.Fields<Route> ROUTE = View.<Route>object()
            .field("prefix", View.TEXT, route -> route.prefix().toString())
            .field("port", View.INTEGER, Route::port)
            .field("mac", View.TEXT, route -> route.nextHop().toString());
    private static final View.Fields<Map.Entry<Router, RoutesView.RouterView>> NODE = View.<Map.Entry<Router, RoutesView.RouterView>>object()
            .field("name", View.TEXT, router -> router.getKey().name())
            .field("device_id", Ports.ID, router -> router.getKey().device())
            .field("ready", View.FLAG.described("If true, the router is connected."), router -> router.getValue().isReady())
            .field("settled", View.FLAG.described("If true, the router acknowledged all routes."), router -> router.getValue().isSettled())
            .field("dark_ports", View.list(View.INTEGER), router -> router.getValue().darkPorts());
    private static final View.Fields<Map.Entry<Router, RoutesView.RouterView>> ROUTER = View.<Map.Entry<Router, RoutesView.RouterView>>object()
            .all(NODE, router -> router)
            .field("routes", View.list(ROUTE), router -> router.getValue().routes());
    /** Routes of each router, in a long list. */
    static final View.Fields<RoutesView> ROUTES = View.<RoutesView>object("Intended routes of each router")
            .field("routers", View.longList(ROUTER), RoutesViews::routers);
    /** Routers without their routes. */
    static final View.Fields<RoutesView> NODES = View.<RoutesView>object("Routers and their connection state")
            .field("nodes", View.list(NODE), RoutesViews::routers);

    private RoutesViews() {
    }

    private static List<Map.Entry<Router, RoutesView.RouterView>> routers(RoutesView view) {
        return view.routers().entrySet().stream()
                .map(router -> Map.entry(view.network().routers().get(router.getKey()), router.getValue())).collect(Collectors.toList());
    }
}
