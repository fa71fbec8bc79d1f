// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.slotwise.control.topology.DeviceId;

/** How routes are found. */
public final class Routing {
    private final Optional<Metric> metric;
    private final List<Static> routes;

    /** What is short. */
    public enum Metric {
        /** Little propagation delay; of equal ones, few hops. */
        DELAY,
        /** Few hops. */
        HOPS
    }

    /** A route that somebody has thought of. */
    public static final class Static {
        private final DeviceId device;
        private final Prefix prefix;
        private final int port;

        /** Takes the router, the addresses, and the port to another switch. */
        public Static(DeviceId device, Prefix prefix, int port) {
            this.device = Objects.requireNonNull(device);
            this.prefix = Objects.requireNonNull(prefix);
            this.port = port;
        }

        /** The router. */
        public DeviceId device() {
            return device;
        }

        /** The addresses. */
        public Prefix prefix() {
            return prefix;
        }

        /** Its port. */
        public int port() {
            return port;
        }
    }

    private Routing(Optional<Metric> metric, List<Static> routes) {
        this.metric = metric;
        this.routes = List.copyOf(routes);
    }

    /** Shortest paths, found anew when a link is lost or comes back. */
    public static Routing shortest(Metric metric) {
        return new Routing(Optional.of(metric), List.of());
    }

    /** These routes, and to the hosts of each router's own ports. */
    public static Routing fixed(List<Static> routes) {
        return new Routing(Optional.empty(), routes);
    }

    /** What is short; empty where routes are fixed. */
    public Optional<Metric> metric() {
        return metric;
    }

    /** Routes that are fixed. */
    public List<Static> routes() {
        return routes;
    }
}
