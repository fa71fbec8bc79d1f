// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.model.RouterPort;
import org.slotwise.systems.routes.model.Routing;

/**
 * Ways from all routers to one, over links that have light at both ends (Dijkstra). Deterministic: of equal ways that with fewer
 * hops, then that by the lower port.
 */
final class ShortestPaths {
    private static final long NO_WAY = Long.MAX_VALUE;

    private final long[] costs;
    private final int[] hops;
    /** The port by which the way begins; null at its end. */
    private final RouterPort[] ports;

    /** Whether a port has light. */
    interface Light {
        /** Of a port of a switch. */
        boolean has(DeviceId device, int port);
    }

    /** The links between routers that have light: looked up once for the ways to all routers. */
    static final class Links {
        private final Map<DeviceId, Integer> places = new HashMap<>();
        /** By place of the router where a link ends. */
        private final List<List<Link>> toward = new ArrayList<>();

        Links(RoutedNetwork network, Routing.Metric metric, Light light) {
            network.routers().keySet().forEach(device -> places.put(device, places.size()));
            for (Router router : network.routers().values()) {
                List<Link> links = new ArrayList<>();
                for (RouterPort here : router.ports()) {
                    RouterPort.Peer peer = here.peer().orElse(null);
                    Router from = peer == null ? null : network.routers().get(peer.device());
                    if (from != null && light.has(router.device(), here.number()) && light.has(from.device(), peer.port())) {
                        RouterPort port = from.port(peer.port()).orElseThrow();
                        links.add(new Link(places.get(from.device()), port, metric == Routing.Metric.HOPS ? 1 : port.delayNs()));
                    }
                }
                toward.add(links);
            }
        }
    }

    private static final class Link {
        private final int from;
        private final RouterPort port;
        private final long cost;

        Link(int from, RouterPort port, long cost) {
            this.from = from;
            this.port = port;
            this.cost = cost;
        }
    }

    private static final class Reached {
        private final int router;
        private final long cost;
        private final int hops;

        Reached(int router, long cost, int hops) {
            this.router = router;
            this.cost = cost;
            this.hops = hops;
        }
    }

    ShortestPaths(Links links, DeviceId target) {
        int routers = links.places.size();
        this.costs = new long[routers];
        this.hops = new int[routers];
        this.ports = new RouterPort[routers];
        Arrays.fill(costs, NO_WAY);
        // Each link costs a hop at least, so a way is not changed any more when it is taken from the queue.
        PriorityQueue<Reached> open = new PriorityQueue<>(
                Comparator.<Reached>comparingLong(reached -> reached.cost).thenComparingInt(reached -> reached.hops));
        int end = links.places.get(target);
        costs[end] = 0;
        open.add(new Reached(end, 0, 0));
        while (!open.isEmpty()) {
            Reached next = open.remove();
            if (costs[next.router] == next.cost && hops[next.router] == next.hops) {
                links.toward.get(next.router).forEach(link -> extend(next, link, open));
            }
        }
    }

    /** A way by one router more, if it is better than what that has. */
    private void extend(Reached reached, Link link, PriorityQueue<Reached> open) {
        int router = link.from;
        long cost = reached.cost + link.cost;
        int hop = reached.hops + 1;
        if (isShorter(cost, hop, costs[router], hops[router])) {
            costs[router] = cost;
            hops[router] = hop;
            ports[router] = link.port;
            open.add(new Reached(router, cost, hop));
        } else if (cost == costs[router] && hop == hops[router] && link.port.number() < ports[router].number()) {
            ports[router] = link.port;
        }
    }

    private static boolean isShorter(long cost, int hops, long otherCost, int otherHops) {
        return cost < otherCost || cost == otherCost && hops < otherHops;
    }

    /** Whether there is a way from a router; routers are numbered as they are in the network. */
    boolean reaches(int router) {
        return costs[router] != NO_WAY;
    }

    /** Whether the way from a router is shorter than that of others; both exist. */
    boolean isShorterThan(ShortestPaths others, int router) {
        return isShorter(costs[router], hops[router], others.costs[router], others.hops[router]);
    }

    /** The port by which the way from a router begins; null at its end. */
    RouterPort port(int router) {
        return ports[router];
    }
}
