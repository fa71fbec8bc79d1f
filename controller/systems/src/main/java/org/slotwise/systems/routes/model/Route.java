// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.Objects;
import org.slotwise.control.topology.MacAddress;

/** Where a router sends what is for some addresses. */
public final class Route {
    private final Prefix prefix;
    private final int port;
    private final MacAddress nextHop;

    public Route(Prefix prefix, int port, MacAddress nextHop) {
        this.prefix = Objects.requireNonNull(prefix);
        this.port = port;
        this.nextHop = Objects.requireNonNull(nextHop);
    }

    /** The addresses. */
    public Prefix prefix() {
        return prefix;
    }

    /** The port. */
    public int port() {
        return port;
    }

    /** Whose Ethernet address packets get. */
    public MacAddress nextHop() {
        return nextHop;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Route && ((Route) o).prefix.equals(prefix) && ((Route) o).port == port
                && ((Route) o).nextHop.equals(nextHop);
    }

    @Override
    public int hashCode() {
        return Objects.hash(prefix, port);
    }

    @Override
    public String toString() {
        return prefix + " > " + port;
    }
}
