// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;
import org.slotwise.systems.routes.model.Prefix;
import org.slotwise.systems.routes.model.Route;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.model.RouterPort;
import org.slotwise.systems.routes.model.Routing;

/** Which routes each router has, and the entries of {@code router.p4} for them. Pure. */
final class RouteTables {
    static final String PARAMS = "router_params";
    static final String ROUTE = "ipv4_route";
    static final String XCP_OUTPUT = "xcp_output";
    /** XCP's rates are in 1/16 byte/s. */
    private static final int RATE_PER_BPS = 2;

    private final RoutedNetwork network;
    /** Where hosts are: at ports of routers, or beyond a switch there. */
    private final Map<Ipv4Address, List<Place>> places = new LinkedHashMap<>();

    private static final class Place {
        private final Router router;
        private final RouterPort port;
        private final MacAddress mac;

        Place(Router router, RouterPort port, MacAddress mac) {
            this.router = router;
            this.port = port;
            this.mac = mac;
        }
    }

    RouteTables(RoutedNetwork network) {
        this.network = network;
        for (Router router : network.routers().values()) {
            for (RouterPort port : router.ports()) {
                for (Host host : port.hosts()) {
                    add(host.ip(), new Place(router, port, host.mac()));
                }
                port.peer().ifPresent(peer -> peer.beyond().forEach(ip -> add(ip, new Place(router, port, peer.mac()))));
            }
        }
    }

    private void add(Ipv4Address host, Place place) {
        places.computeIfAbsent(host, any -> new ArrayList<>()).add(place);
    }

    /** The routes of all routers, in the order of routers and hosts. */
    Map<DeviceId, List<Route>> routes(ShortestPaths.Light light) {
        Map<DeviceId, List<Route>> routes = new LinkedHashMap<>();
        network.routers().keySet().forEach(device -> routes.put(device, new ArrayList<>()));
        Optional<Routing.Metric> metric = network.routing().metric();
        if (metric.isPresent()) {
            addShortest(routes, metric.get(), light);
        } else {
            addStatic(routes);
        }
        return routes;
    }

    private void addShortest(Map<DeviceId, List<Route>> routes, Routing.Metric metric, ShortestPaths.Light light) {
        ShortestPaths.Links links = new ShortestPaths.Links(network, metric, light);
        Map<DeviceId, ShortestPaths> paths = new HashMap<>();
        List<DeviceId> routers = List.copyOf(routes.keySet());
        List<List<Route>> lists = List.copyOf(routes.values());
        places.forEach((host, at) -> {
            Prefix prefix = Prefix.of(host);
            List<Place> lit = new ArrayList<>();
            List<ShortestPaths> ways = new ArrayList<>();
            for (Place place : at) {
                if (light.has(place.router.device(), place.port.number())) {
                    lit.add(place);
                    ways.add(paths.computeIfAbsent(place.router.device(), target -> new ShortestPaths(links, target)));
                }
            }
            for (int router = 0; router < routers.size(); router++) {
                int best = -1;
                for (int i = 0; i < ways.size(); i++) {
                    if (ways.get(i).reaches(router) && (best < 0 || ways.get(i).isShorterThan(ways.get(best), router))) {
                        best = i;
                    }
                }
                if (best >= 0) {
                    lists.get(router).add(route(prefix, ways.get(best).port(router), lit.get(best)));
                }
            }
        });
    }

    private static Route route(Prefix prefix, RouterPort first, Place place) {
        return first == null ? new Route(prefix, place.port.number(), place.mac)
                : new Route(prefix, first.number(), first.peer().orElseThrow().mac());
    }

    private void addStatic(Map<DeviceId, List<Route>> routes) {
        places.forEach((host, at) -> at.stream().filter(place -> place.port.peer().isEmpty()).forEach(place ->
                routes.get(place.router.device()).add(new Route(Prefix.of(host), place.port.number(), place.mac))));
        for (Routing.Static route : network.routing().routes()) {
            MacAddress mac = network.routers().get(route.device()).port(route.port()).orElseThrow().peer().orElseThrow().mac();
            routes.get(route.device()).add(new Route(route.prefix(), route.port(), mac));
        }
    }

    /** All entries that a router is to have. */
    List<TableEntry> entries(Router router, List<Route> routes, Map<Integer, Long> xcpBps) {
        List<TableEntry> entries = new ArrayList<>();
        entries.add(TableEntry.in(PARAMS).action("set_router_params").param("mac", router.mac().value()).build());
        for (Route route : routes) {
            entries.add(TableEntry.in(ROUTE)
                    .match(Match.lpm("dst", route.prefix().address().value(), route.prefix().length()))
                    .action("to_port").param("port", route.port()).param("mac", route.nextHop().value()).build());
        }
        xcpBps.forEach((port, bps) -> entries.add(TableEntry.in(XCP_OUTPUT).exact("queue", port).action("fixed_capacity")
                .param("throughput", bps * RATE_PER_BPS).param("overhead", network.xcpOverheadBytes()).build()));
        return entries;
    }
}
