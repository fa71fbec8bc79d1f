// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.wire.Limits;

class RoutedNetworkTest {
    private static final long RATE_BPS = 1_000_000;

    private static RouterPort port(int number, long peer, int peerPort) {
        return RouterPort.to(new RouterPort.Peer(DeviceId.of(peer), peerPort, RoutedNetworks.mac(9), List.of()), number, RATE_BPS, 0,
                OptionalLong.empty());
    }

    private static Router router(int number, RouterPort... ports) {
        return new Router("r" + number, RoutedNetworks.device(number), RoutedNetworks.mac(number), List.of(ports));
    }

    private static String refusal(Routing routing, Router... routers) {
        return assertThrows(InvalidNetworkException.class, () -> new RoutedNetwork(List.of(routers), routing, 0)).getMessage();
    }

    @Test
    void whatDoesNotFitIsRefusedWithThePlace() {
        Routing shortest = Routing.shortest(Routing.Metric.HOPS);
        assertEquals("nodes: expected 1 .. 1024, got 0", refusal(shortest));
        assertEquals("nodes[1].device_id: duplicate 2001", refusal(shortest, router(0), router(0)));
        assertEquals("nodes[0].ports[1].port: duplicate 1", refusal(shortest, router(0, port(1, 7, 1), port(1, 8, 1))));
        assertEquals("nodes[0].ports[0].port: expected 1 .. 255, got 256", refusal(shortest, router(0, port(256, 7, 1))));
        assertEquals("nodes[0].ports[0].peer: port 2 of device 2002 does not lead back to port 1 of device 2001",
                refusal(shortest, router(0, port(1, 2002, 2)), router(1, port(2, 2001, 5))));
        assertEquals("nodes[1].ports[0].hosts: duplicate 10.1.0.1", refusal(shortest,
                router(0, RouterPort.to(List.of(RoutedNetworks.host(0, 1)), 1, RATE_BPS, 0, OptionalLong.empty())),
                router(1, RouterPort.to(List.of(RoutedNetworks.host(0, 1)), 1, RATE_BPS, 0, OptionalLong.empty()))));
        assertEquals("nodes[0].ports[0].xcp_bps: expected 1000000 .. 400000000000, got 0", refusal(shortest, router(0, RouterPort.to(
                List.of(), 1, RATE_BPS, 0, OptionalLong.of(0)))));
    }

    @Test
    void fixedRoutesLeadToSwitchesThatAreThere() {
        Prefix prefix = Prefix.parse("10.0.0.0/8");
        assertEquals("routing.routes[0].device_id: unknown router 5",
                refusal(Routing.fixed(List.of(new Routing.Static(DeviceId.of(5), prefix, 1))), router(0)));
        assertEquals("routing.routes[0].port: port 3 of device 2001 does not lead to another switch",
                refusal(Routing.fixed(List.of(new Routing.Static(RoutedNetworks.device(0), prefix, 3))), router(0)));
    }

    private static Routing.Static route(int router, String prefix, int port) {
        return new Routing.Static(RoutedNetworks.device(router), Prefix.parse(prefix), port);
    }

    @Test
    void aRouterHasOneRouteToEachPrefix() {
        RoutedNetworks triangle = RoutedNetworks.triangle();
        triangle.build(Routing.fixed(List.of(route(0, "10.0.0.0/8", 1), route(1, "10.0.0.0/8", 1), route(0, "10.0.0.0/9", 2))));
        assertEquals("routing.routes[1].prefix: duplicate route to 10.0.0.0/8 of device 2001", assertThrows(InvalidNetworkException.class,
                () -> triangle.build(Routing.fixed(List.of(route(0, "10.0.0.0/8", 1), route(0, "10.0.0.0/8", 2))))).getMessage());
        assertEquals("routing.routes[0].prefix: duplicate route to 10.1.0.1/32 of device 2001", assertThrows(InvalidNetworkException.class,
                () -> triangle.build(Routing.fixed(List.of(route(0, "10.1.0.1/32", 1))))).getMessage(), "a host of its own");
    }

    @Test
    void hostsAndFixedRoutesOfARouterFitItsTableTogether() {
        List<Routing.Static> routes = new ArrayList<>();
        for (int i = 0; i < Limits.MAX_ROUTES; i++) {
            routes.add(route(0, "11.0." + (i >> 8) + "." + (i & 0xff) + "/32", 1));
        }
        assertEquals("routing.routes[8191]: too many routes of device 2001; expected at most 8192, routes to attached hosts included",
                assertThrows(InvalidNetworkException.class, () -> RoutedNetworks.triangle().build(Routing.fixed(routes))).getMessage());
        RoutedNetworks.triangle().build(Routing.fixed(routes.subList(1, routes.size())));
    }

    /** All of them are found anew when a link is lost. */
    @Test
    void shortestWaysOfAllRoutersTogetherHaveABound() {
        RoutedNetworks many = new RoutedNetworks();
        for (int router = 1; router < 363; router++) {
            many.link(router - 1, router, 1);
        }
        assertEquals("nodes: expected at most 131072 routes (routers x hosts), got 131769",
                assertThrows(InvalidNetworkException.class, () -> many.build(Routing.shortest(Routing.Metric.HOPS))).getMessage());
        many.build(Routing.fixed(List.of()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8", "10.0.0.256/32", "/8", "10.0.0.0/08", "1.2.3/8"})
    void prefixesThatAreNoneAreRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Prefix.parse(text));
    }

    @Test
    void prefixesAreAddressesThatBeginAlike() {
        assertEquals("0.0.0.0/0", Prefix.parse("0.0.0.0/0").toString());
        assertEquals(Prefix.parse("10.1.2.3/32"), Prefix.parse("10.1.2.3/32"));
        assertTrue(Prefix.parse("10.128.0.0/9").length() == 9);
    }
}
