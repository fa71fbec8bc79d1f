// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.Lane;
import org.slotwise.control.topology.Link;
import org.slotwise.control.topology.Node;
import org.slotwise.control.topology.Ranges;
import org.slotwise.control.topology.Topology;
import org.slotwise.wire.Limits;

/** Routers, and how routes between their hosts are found. Immutable and valid. */
public final class RoutedNetwork {
    /** Name of the program of a router. */
    public static final String PROGRAM = "router";
    /** Most bytes of a packet that XCP counts besides its IP length. */
    public static final int MAX_OVERHEAD_BYTES = 65_535;

    private final Map<DeviceId, Router> routers = new LinkedHashMap<>();
    private final Routing routing;
    private final int xcpOverheadBytes;

    /** Throws {@link InvalidNetworkException} with the place and the reason if the parts do not fit together. */
    public RoutedNetwork(List<Router> routers, Routing routing, int xcpOverheadBytes) {
        this.routing = Objects.requireNonNull(routing);
        this.xcpOverheadBytes = (int) Ranges.check("xcp.overhead_bytes", xcpOverheadBytes, 0, MAX_OVERHEAD_BYTES);
        Ranges.check("nodes", routers.size(), Limits.MIN_ROUTERS, Limits.MAX_ROUTERS);
        for (int i = 0; i < routers.size(); i++) {
            if (this.routers.put(routers.get(i).device(), routers.get(i)) != null) {
                throw new InvalidNetworkException("nodes[" + i + "].device_id", "duplicate " + routers.get(i).device());
            }
        }
        Set<Ipv4Address> hosts = new HashSet<>();
        Set<Ipv4Address> all = new HashSet<>();
        for (int i = 0; i < routers.size(); i++) {
            checkPorts("nodes[" + i + "].ports", routers.get(i), hosts, all);
        }
        Ranges.check("nodes", all.size(), 0, Limits.MAX_ROUTES);
        checkFound((long) all.size() * routers.size());
        checkStatic();
    }

    private void checkFound(long routes) {
        if (routing.metric().isPresent() && routes > Limits.MAX_ROUTES_OF_ALL) {
            throw new InvalidNetworkException("nodes", "expected at most " + Limits.MAX_ROUTES_OF_ALL
                    + " routes (routers x hosts), got " + routes);
        }
    }

    private void checkPorts(String where, Router router, Set<Ipv4Address> hosts, Set<Ipv4Address> all) {
        Ranges.check(where, router.ports().size(), Limits.MIN_ROUTER_PORTS, Limits.MAX_ROUTER_PORTS);
        Set<Integer> numbers = new HashSet<>();
        for (int i = 0; i < router.ports().size(); i++) {
            RouterPort port = router.ports().get(i);
            String place = where + "[" + i + "]";
            Ranges.check(place + ".port", port.number(), Limits.MIN_ROUTER_PORT, Limits.MAX_ROUTER_PORT);
            if (!numbers.add(port.number())) {
                throw new InvalidNetworkException(place + ".port", "duplicate " + port.number());
            }
            Ranges.check(place + ".rate_bps", port.rateBps(), Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
            Ranges.check(place + ".delay_ns", port.delayNs(), Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
            port.xcpBps().ifPresent(bps -> Ranges.check(place + ".xcp_bps", bps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS));
            Ranges.check(place + ".hosts", port.hosts().size(), Limits.MIN_PORT_HOSTS, Limits.MAX_PORT_HOSTS);
            for (Host host : port.hosts()) {
                if (!hosts.add(host.ip())) {
                    throw new InvalidNetworkException(place + ".hosts", "duplicate " + host.ip());
                }
                all.add(host.ip());
            }
            port.peer().ifPresent(peer -> {
                Ranges.check(place + ".peer.beyond", peer.beyond().size(), Limits.MIN_ROUTES, Limits.MAX_ROUTES);
                checkPeer(place + ".peer", router, port, peer);
                all.addAll(peer.beyond());
            });
        }
    }

    /** A link between two routers is the same one as seen from both. */
    private void checkPeer(String place, Router router, RouterPort port, RouterPort.Peer peer) {
        Router other = routers.get(peer.device());
        if (other == null) {
            return;
        }
        boolean isMutual = other.port(peer.port()).flatMap(RouterPort::peer)
                .filter(back -> back.device().equals(router.device()) && back.port() == port.number()).isPresent();
        if (!isMutual || other == router) {
            throw new InvalidNetworkException(place, "port " + peer.port() + " of device " + peer.device()
                    + " does not lead back to port " + port.number() + " of device " + router.device());
        }
        if (!peer.beyond().isEmpty()) {
            throw new InvalidNetworkException(place, "'beyond' requires a switch of another application; device "
                    + peer.device() + " is a router of this application");
        }
    }

    private void checkStatic() {
        Ranges.check("routing.routes", routing.routes().size(), 0, Limits.MAX_ROUTES);
        Map<DeviceId, Set<Prefix>> known = new HashMap<>();
        routers.values().forEach(router -> known.put(router.device(), hostsOf(router)));
        for (int i = 0; i < routing.routes().size(); i++) {
            Routing.Static route = routing.routes().get(i);
            String place = "routing.routes[" + i + "]";
            Router router = routers.get(route.device());
            if (router == null) {
                throw new InvalidNetworkException(place + ".device_id", "unknown router " + route.device());
            }
            if (router.port(route.port()).flatMap(RouterPort::peer).isEmpty()) {
                throw new InvalidNetworkException(place + ".port",
                        "port " + route.port() + " of device " + route.device() + " does not lead to another switch");
            }
            Set<Prefix> own = known.get(route.device());
            if (!own.add(route.prefix())) {
                throw new InvalidNetworkException(place + ".prefix",
                        "duplicate route to " + route.prefix() + " of device " + route.device());
            }
            if (own.size() > Limits.MAX_ROUTES) {
                throw new InvalidNetworkException(place, "too many routes of device " + route.device() + "; expected at most " + Limits.MAX_ROUTES
                        + ", routes to attached hosts included");
            }
        }
    }

    private static Set<Prefix> hostsOf(Router router) {
        Set<Prefix> hosts = new HashSet<>();
        router.ports().forEach(port -> port.hosts().forEach(host -> hosts.add(Prefix.of(host.ip()))));
        return hosts;
    }

    /** The routers by device, in the order given. */
    public Map<DeviceId, Router> routers() {
        return Collections.unmodifiableMap(routers);
    }

    /** How routes are found. */
    public Routing routing() {
        return routing;
    }

    /** Bytes of a packet that XCP counts besides its IP length. */
    public int xcpOverheadBytes() {
        return xcpOverheadBytes;
    }

    /** Routers, links between them and to switches of others, hosts. */
    public Topology topology() {
        Topology.Builder topology = new Topology.Builder();
        for (Router router : routers.values()) {
            topology.node(new Node(router.device(), router.name(), PROGRAM));
            for (RouterPort port : router.ports()) {
                port.hosts().forEach(host -> topology.host(router.device(), host));
                port.peer().ifPresent(peer -> addLink(topology, router, port, peer));
            }
        }
        return topology.build();
    }

    private void addLink(Topology.Builder topology, Router router, RouterPort port, RouterPort.Peer peer) {
        Router other = routers.get(peer.device());
        if (other != null && other.device().compareTo(router.device()) < 0) {
            return;
        }
        RouterPort back = other == null ? port : other.port(peer.port()).orElseThrow();
        topology.link(new Link(
                new Lane(router.device(), port.number(), peer.device(), peer.port(), port.rateBps(), port.delayNs()),
                new Lane(peer.device(), peer.port(), router.device(), port.number(), back.rateBps(), back.delayNs())));
    }
}
