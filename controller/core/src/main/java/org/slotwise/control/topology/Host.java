// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.Objects;

/** Host on a port of a switch. */
public final class Host {
    private final String name;
    private final Ipv4Address ip;
    private final MacAddress mac;
    private final int port;

    /** Takes the access port as P4 numbers it; what uses it checks ranges. */
    public Host(String name, Ipv4Address ip, MacAddress mac, int port) {
        this.name = Objects.requireNonNull(name);
        this.ip = Objects.requireNonNull(ip);
        this.mac = Objects.requireNonNull(mac);
        this.port = port;
    }

    /** Name. */
    public String name() {
        return name;
    }

    /** IPv4 address. */
    public Ipv4Address ip() {
        return ip;
    }

    /** Ethernet address. */
    public MacAddress mac() {
        return mac;
    }

    /** Port of the switch. */
    public int port() {
        return port;
    }
}
