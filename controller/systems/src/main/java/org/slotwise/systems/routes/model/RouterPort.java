// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;

/** A port of a router: to another switch, or to hosts. */
public final class RouterPort {
    private final int number;
    private final long rateBps;
    private final long delayNs;
    private final OptionalLong xcpBps;
    private final Optional<Peer> peer;
    private final List<Host> hosts;

    /** The switch at the other end. */
    public static final class Peer {
        private final DeviceId device;
        private final int port;
        private final MacAddress mac;
        private final List<Ipv4Address> beyond;

        /** Takes the switch, its port, its address, and hosts that are reached through it, if it is no router of this network. */
        public Peer(DeviceId device, int port, MacAddress mac, List<Ipv4Address> beyond) {
            this.device = Objects.requireNonNull(device);
            this.port = port;
            this.mac = Objects.requireNonNull(mac);
            this.beyond = List.copyOf(beyond);
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }

        /** Its port. */
        public int port() {
            return port;
        }

        /** Its Ethernet address. */
        public MacAddress mac() {
            return mac;
        }

        /** Hosts that another application reaches behind it. */
        public List<Ipv4Address> beyond() {
            return beyond;
        }
    }

    private RouterPort(int number, long rateBps, long delayNs, OptionalLong xcpBps, Optional<Peer> peer, List<Host> hosts) {
        this.number = number;
        this.rateBps = rateBps;
        this.delayNs = delayNs;
        this.xcpBps = Objects.requireNonNull(xcpBps);
        this.peer = peer;
        this.hosts = List.copyOf(hosts);
    }

    /** A port to another switch; {@code xcpBps} is what XCP reckons with, if it controls this output. */
    public static RouterPort to(Peer peer, int number, long rateBps, long delayNs, OptionalLong xcpBps) {
        return new RouterPort(number, rateBps, delayNs, xcpBps, Optional.of(peer), List.of());
    }

    /** A port to hosts. */
    public static RouterPort to(List<Host> hosts, int number, long rateBps, long delayNs, OptionalLong xcpBps) {
        return new RouterPort(number, rateBps, delayNs, xcpBps, Optional.empty(), hosts);
    }

    /** Its number in P4. */
    public int number() {
        return number;
    }

    /** Bits a second that it sends. */
    public long rateBps() {
        return rateBps;
    }

    /** Propagation delay from here, ns. */
    public long delayNs() {
        return delayNs;
    }

    /** Capacity that XCP begins with, bit/s; empty: no XCP on this output. */
    public OptionalLong xcpBps() {
        return xcpBps;
    }

    /** The switch at the other end; empty where hosts are. */
    public Optional<Peer> peer() {
        return peer;
    }

    /** The hosts at the other end. */
    public List<Host> hosts() {
        return hosts;
    }
}
