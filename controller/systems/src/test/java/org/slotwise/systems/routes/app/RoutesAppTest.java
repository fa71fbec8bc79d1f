// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.TableMirror;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.SwitchPort;
import org.slotwise.systems.routes.model.Prefix;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.systems.routes.model.RoutedNetworks;
import org.slotwise.systems.routes.model.Routing;

/** Routers that obey at once, or when a test says so. */
class RoutesAppTest {
    private RoutesApp app;
    private final Map<DeviceId, TableMirror> switches = new HashMap<>();
    private final List<String> defaults = new ArrayList<>();
    private final List<Command.Write> held = new ArrayList<>();
    private final List<Command> others = new ArrayList<>();
    private boolean hold;

    private void start(RoutedNetwork network) {
        app = new RoutesApp(network);
        network.routers().keySet().forEach(device -> {
            switches.put(device, new TableMirror());
            deliver(new Event.DeviceReady(device, List.of()));
        });
    }

    private void deliver(Event event) {
        for (Command command : app.onEvent(0, event)) {
            if (!(command instanceof Command.Write)) {
                others.add(command);
            } else if (hold) {
                held.add((Command.Write) command);
            } else {
                obey((Command.Write) command);
            }
        }
    }

    /** What happens after what has happened already. */
    private void endTurn() {
        if (app.nextDeadlineNs().isPresent()) {
            assertEquals(OptionalLong.of(0), app.nextDeadlineNs(), "at once");
            deliver(new Event.DeadlineReached());
            assertEquals(OptionalLong.empty(), app.nextDeadlineNs());
        }
    }

    private void obey(Command.Write write) {
        write.updates().stream().map(Update::entry).filter(TableEntry::isDefault).forEach(entry -> defaults.add(entry.toString()));
        switches.get(write.device()).apply(write.updates());
        deliver(new Event.WriteDone(write.device(), write.batch()));
    }

    /** Ports by host, as the switch has them. */
    private Map<Long, Long> table(int router) {
        return switches.get(RoutedNetworks.device(router)).entries(entry -> entry.table().equals("ipv4_route")).stream()
                .collect(Collectors.toMap(entry -> entry.matches().get(0).value() & 0xff, entry -> entry.params().get("port")));
    }

    private void port(int router, int port, boolean up) {
        change(router, port, up);
        endTurn();
    }

    private void change(int router, int port, boolean up) {
        deliver(new Event.PortChanged(RoutedNetworks.device(router), port, up));
    }

    @Test
    void everyRouterGetsItsAddressRoutesAndCapacities() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        assertTrue(app.isConfigured());
        assertEquals(Set.of("router_params[] -> set_router_params{mac=2199040032768}", "router_params[] -> set_router_params{mac=2199040032769}",
                "router_params[] -> set_router_params{mac=2199040032770}"), Set.copyOf(defaults));
        assertEquals(Map.of(1L, 3L, 2L, 1L, 3L, 1L), table(0));
        TableEntry route = switches.get(RoutedNetworks.device(0)).entries(entry -> entry.matches().get(0).value() == 0x0a010003L).get(0);
        assertEquals(RoutedNetworks.mac(1).value(), route.params().get("mac"));
        assertEquals(32, route.matches().get(0).detail());
        List<TableEntry> outputs = switches.get(RoutedNetworks.device(0)).entries(entry -> entry.table().equals("xcp_output"));
        assertEquals("[xcp_output[queue=1] -> fixed_capacity{overhead=20, throughput=2000000000},"
                + " xcp_output[queue=2] -> fixed_capacity{overhead=20, throughput=2000000000}]", outputs.toString());
    }

    @Test
    void fewHopsAreAnotherWayThanLittleDelay() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.HOPS)));
        assertEquals(Map.of(1L, 3L, 2L, 1L, 3L, 2L), table(0));
    }

    @Test
    void ofEqualWaysTheLowerPortIsTaken() {
        start(new RoutedNetworks().link(0, 1, 5).link(0, 2, 5).link(1, 3, 5).link(2, 3, 5)
                .build(Routing.shortest(Routing.Metric.DELAY)));
        assertEquals(1L, table(0).get(4L));
        assertEquals(1L, table(3).get(1L));
    }

    @Test
    void aLostLinkIsGoneAroundAndTakenAgainWhenItIsBack() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        Map<Long, Long> before = table(2);
        port(1, 2, false);
        assertEquals(Map.of(1L, 3L, 2L, 1L, 3L, 2L), table(0));
        assertEquals(Map.of(1L, 2L, 2L, 2L, 3L, 3L), table(2));
        assertEquals("device 2002, port 2 is down: 4 routes changed", others.remove(0).toString());
        assertEquals(Set.of(2), app.view().routers().get(RoutedNetworks.device(1)).darkPorts());
        port(1, 2, false);
        port(1, 77, false);
        port(1, -1, false);
        assertEquals(List.of(), others, "no news");
        assertEquals(Set.of(2), app.view().routers().get(RoutedNetworks.device(1)).darkPorts());
        port(1, 2, true);
        assertEquals(before, table(2));
        assertEquals("rerouted", ((Command.Notice) others.remove(0)).event());
        assertEquals(2, app.view().reroutes());
    }

    @Test
    void waysAreFoundOnceForAllThatHappenedAtOneTime() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        change(1, 2, false);
        change(2, 1, false);
        assertFalse(app.view().routers().get(RoutedNetworks.device(0)).isSettled(), "there is another way to come");
        assertEquals(1L, table(0).get(3L));
        endTurn();
        assertEquals("[device 2002, port 2 is down, and 1 more: 4 routes changed]", others.toString());
        assertEquals(2L, table(0).get(3L));
        assertTrue(app.view().routers().get(RoutedNetworks.device(0)).isSettled());
        change(1, 2, true);
        change(1, 2, false);
        endTurn();
        assertEquals(1, app.view().reroutes(), "all is as it was");
    }

    @Test
    void whoCannotBeReachedHasNoRoute() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        port(2, 1, false);
        port(0, 2, false);
        assertEquals(Map.of(1L, 3L, 2L, 1L), table(0));
        assertEquals(Map.of(3L, 3L), table(2));
        port(1, 3, false);
        assertEquals(Map.of(1L, 3L), table(0), "nor where the host's own link is dark");
    }

    @Test
    void linksThatChangeWhileARouterWritesAreWrittenAfterwards() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        hold = true;
        port(1, 2, false);
        port(1, 2, true);
        assertEquals(3, held.size(), "one batch a router");
        assertFalse(app.view().routers().get(RoutedNetworks.device(0)).isSettled());
        hold = false;
        List.copyOf(held).forEach(this::obey);
        assertEquals(1L, table(0).get(3L));
        assertTrue(app.view().routers().get(RoutedNetworks.device(0)).isSettled());
    }

    @Test
    void aPortThatFlapsLeavesOneBatchARouterAndItsLastStateHolds() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        hold = true;
        for (int i = 0; i < 1001; i++) {
            port(1, 2, i % 2 == 1);
        }
        assertEquals(3, held.size());
        hold = false;
        List.copyOf(held).forEach(this::obey);
        assertEquals(Map.of(1L, 3L, 2L, 1L, 3L, 2L), table(0), "as after one loss");
        assertTrue(app.view().routers().values().stream().allMatch(RoutesView.RouterView::isSettled));
        assertEquals(OptionalLong.empty(), app.nextDeadlineNs());
    }

    @Test
    void fixedRoutesStayAsTheyAre() {
        RoutedNetwork network = RoutedNetworks.triangle().build(Routing.fixed(List.of(
                new Routing.Static(RoutedNetworks.device(0), Prefix.parse("10.1.0.0/16"), 2))));
        start(network);
        assertEquals(Map.of(0L, 2L, 1L, 3L), table(0));
        assertEquals(Map.of(2L, 3L), table(1));
        port(0, 2, false);
        assertEquals(Map.of(0L, 2L, 1L, 3L), table(0));
        assertEquals(0, app.view().reroutes());
    }

    @Test
    void lightThatSomebodyTellsOfCountsAsThatOfTheRouter() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        Map<Long, Long> before = table(0);
        deliver(light(RoutedNetworks.device(0), 1, false));
        endTurn();
        assertEquals(1, app.view().reroutes());
        assertEquals(Map.of(1L, 3L, 2L, 2L, 3L, 2L), table(0));
        port(0, 1, false);
        deliver(light(RoutedNetworks.device(0), 99, false));
        deliver(light(DeviceId.of(9), 1, false));
        endTurn();
        assertEquals(1, app.view().reroutes(), "nothing new");
        deliver(light(RoutedNetworks.device(0), 1, true));
        endTurn();
        assertEquals(before, table(0));
    }

    private static Event.Order light(DeviceId device, int port, boolean up) {
        return Event.Call.of((RoutesApp routes) -> routes.reportPort(new SwitchPort(device, port), up));
    }

    private static Event.Order capacity(DeviceId device, int port, long bps) {
        return Event.Call.of((RoutesApp routes) -> routes.setCapacity(new SwitchPort(device, port), bps));
    }

    @Test
    void aNewCapacityIsOneChange() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        hold = true;
        deliver(capacity(RoutedNetworks.device(0), 2, 5_000_000));
        assertEquals("[MODIFY router_params, MODIFY xcp_output]", held.get(0).updates().stream()
                .map(update -> update.type() + " " + update.entry().table()).sorted().collect(Collectors.toList()).toString());
        assertEquals(1, held.size());
        assertEquals(5_000_000L, app.view().routers().get(RoutedNetworks.device(0)).xcpBps().get(2));
        deliver(capacity(RoutedNetworks.device(2), 1, 5_000_000));
        deliver(capacity(DeviceId.of(9), 1, 5_000_000));
        assertEquals(1, held.size(), "there is no XCP");
    }

    @Test
    void aRefusedBatchLeadsToAReadAndALostRouterIsWrittenWhenItIsBack() {
        start(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.DELAY)));
        hold = true;
        port(1, 2, false);
        Command.Write refused = held.remove(0);
        deliver(new Event.WriteFailed(refused.device(), refused.batch()));
        assertInstanceOf(Command.ReadTables.class, others.get(others.size() - 1));
        assertEquals(1, app.view().writeFailures());
        held.clear();
        deliver(new Event.DeviceReady(refused.device(), switches.get(refused.device()).entries(entry -> true)));
        assertEquals(refused.updates(), held.get(0).updates());
        deliver(new Event.DeviceLost(RoutedNetworks.device(2)));
        assertFalse(app.view().routers().get(RoutedNetworks.device(2)).isReady());
    }

    @Test
    void hostsOfOthersAreReachedByTheNearestSwitchThatKnowsThem() {
        start(new RoutedNetworks().link(0, 1, 10).link(1, 2, 10).beyond(0, 7, "10.0.0.9").beyond(2, 8, "10.0.0.9")
                .build(Routing.shortest(Routing.Metric.DELAY)));
        assertEquals(2L, table(0).get(9L));
        assertEquals(2L, table(2).get(9L));
        assertEquals(1L, table(1).get(9L), "of equal ones the first");
        port(0, 2, false);
        assertEquals(1L, table(0).get(9L));
        assertEquals(2L, table(1).get(9L));
    }

    @Test
    void theTopologyHasEachLinkOnce() {
        app = new RoutesApp(RoutedNetworks.triangle().beyond(0, 7, "10.0.0.9").build(Routing.shortest(Routing.Metric.HOPS)));
        assertEquals(List.of("2001:1 > 2002:1", "2001:2 > 2003:2", "2001:3 > 7:1", "2002:2 > 2003:1"),
                app.topology().links().stream().map(link -> link.there().toString()).collect(Collectors.toList()));
        assertEquals("h1", app.topology().hostsOf(RoutedNetworks.device(1)).get(0).name());
        assertEquals("router", app.topology().nodes().get(0).program());
    }
}
