// SPDX-License-Identifier: Apache-2.0
package org.slotwise.routes;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import org.slotwise.control.topology.DeviceId;

/**
 * Ways from all routers to one, over links that have light at both ends (Dijkstra). Deterministic: of equal ways that with fewer
 * hops, then that by the lower port.
 */
final class ShortestPaths {
    private final Map<DeviceId, Way> ways = new HashMap<>();

    /** The rest of the way from one router. */
    static final class Way {
        private final long cost;
        private final int hops;
        private final RouterPort port;

        private Way(long cost, int hops, RouterPort port) {
            this.cost = cost;
            this.hops = hops;
            this.port = port;
        }

        /** The port by which it begins; null at its end. */
        RouterPort port() {
            return port;
        }

        boolean isShorterThan(Way other) {
            return cost < other.cost || cost == other.cost && hops < other.hops;
        }

        private boolean isBetterThan(Way other) {
            return isShorterThan(other) || cost == other.cost && hops == other.hops && port.number() < other.port.number();
        }
    }

    private static final class Reached {
        private final Router router;
        private final Way way;

        Reached(Router router, Way way) {
            this.router = router;
            this.way = way;
        }
    }

    /** Whether a port has light. */
    interface Light {
        /** Of a port of a switch. */
        boolean has(DeviceId device, int port);
    }

    ShortestPaths(RoutedNetwork network, DeviceId target, Routing.Metric metric, Light light) {
        PriorityQueue<Reached> open = new PriorityQueue<>(Comparator
                .<Reached>comparingLong(reached -> reached.way.cost).thenComparingInt(reached -> reached.way.hops)
                .thenComparing(reached -> reached.router.device()));
        Way end = new Way(0, 0, null);
        ways.put(target, end);
        open.add(new Reached(network.routers().get(target), end));
        while (!open.isEmpty()) {
            Reached next = open.remove();
            if (ways.get(next.router.device()) != next.way) {
                continue;
            }
            for (Reached before : before(network, next, metric, light)) {
                Way known = ways.get(before.router.device());
                if (known == null || known.port != null && before.way.isBetterThan(known)) {
                    ways.put(before.router.device(), before.way);
                    open.add(before);
                }
            }
        }
    }

    /** Ways by one router more. */
    private static List<Reached> before(RoutedNetwork network, Reached reached, Routing.Metric metric, Light light) {
        List<Reached> found = new ArrayList<>();
        for (RouterPort here : reached.router.ports()) {
            Router router = here.peer().map(peer -> network.routers().get(peer.device())).orElse(null);
            if (router != null && light.has(reached.router.device(), here.number())
                    && light.has(router.device(), here.peer().orElseThrow().port())) {
                RouterPort there = router.port(here.peer().orElseThrow().port()).orElseThrow();
                long cost = metric == Routing.Metric.HOPS ? 1 : there.delayNs();
                found.add(new Reached(router, new Way(reached.way.cost + cost, reached.way.hops + 1, there)));
            }
        }
        return found;
    }

    /** The way from a router; empty if there is none. */
    Optional<Way> from(DeviceId router) {
        return Optional.ofNullable(ways.get(router));
    }
}
