// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Host;
import org.slotwise.control.topology.Ipv4Address;
import org.slotwise.control.topology.MacAddress;

/** Routers 0, 1, ... with a host each, whose ports are numbered as links are added, the host's last. */
public final class RoutedNetworks {
    private static final long RATE_BPS = 1_000_000_000L;
    private final Map<Integer, List<RouterPort>> ports = new TreeMap<>();

    /** Device of a router. */
    public static DeviceId device(int router) {
        return DeviceId.of(2001 + router);
    }

    /** Address of a router. */
    public static MacAddress mac(int router) {
        return MacAddress.parse(String.format("02:00:01:00:%02x:%02x", router >> 8, router & 0xff));
    }

    /** A router's host. */
    public static Host host(int router, int port) {
        return new Host("h" + router, Ipv4Address.parse("10.1." + (router + 1 >> 8) + "." + (router + 1 & 0xff)),
                MacAddress.parse(String.format("02:00:02:00:%02x:%02x", router >> 8, router & 0xff)), port);
    }

    private List<RouterPort> of(int router) {
        return ports.computeIfAbsent(router, any -> new ArrayList<>());
    }

    /** Joins two routers; XCP controls the output of the first one. */
    public RoutedNetworks link(int from, int to, long delayNs) {
        int there = of(from).size() + 1;
        int back = of(to).size() + 1;
        of(from).add(RouterPort.to(new RouterPort.Peer(device(to), back, mac(to), List.of()), there, RATE_BPS, delayNs,
                OptionalLong.of(RATE_BPS)));
        of(to).add(RouterPort.to(new RouterPort.Peer(device(from), there, mac(from), List.of()), back, RATE_BPS, delayNs,
                OptionalLong.empty()));
        return this;
    }

    /** A switch of another application at a router's next port, with hosts behind it. */
    public RoutedNetworks beyond(int router, long peer, String... hosts) {
        List<Ipv4Address> addresses = new ArrayList<>();
        for (String host : hosts) {
            addresses.add(Ipv4Address.parse(host));
        }
        of(router).add(RouterPort.to(new RouterPort.Peer(DeviceId.of(peer), 1, MacAddress.parse("02:00:00:00:00:01"), addresses),
                of(router).size() + 1, RATE_BPS, 1000, OptionalLong.empty()));
        return this;
    }

    /** The network, with a host at each router. */
    public RoutedNetwork build(Routing routing) {
        List<Router> routers = new ArrayList<>();
        ports.forEach((router, own) -> {
            List<RouterPort> all = new ArrayList<>(own);
            int port = own.size() + 1;
            all.add(RouterPort.to(List.of(host(router, port)), port, RATE_BPS, 1000, OptionalLong.empty()));
            routers.add(new Router("r" + router, device(router), mac(router), all));
        });
        return new RoutedNetwork(routers, routing, 20);
    }

    /** Three routers: the direct way from 0 to 2 is slow, that by 1 is fast. */
    public static RoutedNetworks triangle() {
        return new RoutedNetworks().link(0, 1, 1000).link(1, 2, 1000).link(0, 2, 50_000);
    }
}
