// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.control.AppHost;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.routes.app.RoutesApp;
import org.slotwise.systems.routes.model.RoutedNetworks;
import org.slotwise.systems.routes.model.Routing;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.wire.WireConstants;

/** A star and routers side by side. */
class MixedHostTest {
    private final Network network = Networks.star(4, 20);
    private final StarApp star = StarApp.of(network, Networks.scheduler(Kinds.FAIR), () -> 0);
    private final RoutesApp routes = new RoutesApp(
            RoutedNetworks.triangle().beyond(0, 1, "10.0.0.9").build(Routing.shortest(Routing.Metric.DELAY)));
    private final AppHost host = new AppHost(List.of(star, routes));
    private final List<Command> others = new ArrayList<>();

    private void deliver(Event event) {
        for (Command command : host.onEvent(0, event)) {
            if (command instanceof Command.Write) {
                Command.Write write = (Command.Write) command;
                deliver(new Event.WriteDone(write.device(), write.batch()));
            } else {
                others.add(command);
            }
        }
    }

    @Test
    void bothAreConfiguredAndEachHearsOfItsOwn() {
        host.topology().nodes().forEach(node -> deliver(new Event.DeviceReady(node.device(), List.of())));
        assertTrue(host.isConfigured());
        assertEquals(5 + 3, host.topology().nodes().size());
        for (int frame = 1; frame <= 5; frame++) {
            for (int edge = 0; edge < 4; edge++) {
                int port = edge == 0 ? WireConstants.PORT_LINECARD : WireConstants.PORT_OPTICAL_BASE;
                deliver(new Event.PacketIn(network.master().device(), port,
                        new RequestMessage(edge).frame(frame).versions(0, 0).encode()));
            }
        }
        assertEquals(1, others.size(), "a commit");
        deliver(new Event.PortChanged(RoutedNetworks.device(1), 2, false));
        deliver(new Event.DeadlineReached());
        assertEquals("rerouted", ((Command.Notice) others.get(1)).event());
        deliver(new Event.PortChanged(network.master().device(), 1, false));
        assertEquals(2, others.size());
        deliver(new Event.PacketIn(RoutedNetworks.device(1), 1, new byte[60]));
        assertEquals(1, host.unclaimedPackets());
    }

    @Test
    void twoForOneSwitchAreRefused() {
        RoutesApp other = new RoutesApp(RoutedNetworks.triangle().build(Routing.shortest(Routing.Metric.HOPS)));
        assertThrows(AppHost.ConflictException.class, () -> new AppHost(List.of(routes, other)));
        assertEquals(DeviceId.of(2001), routes.topology().nodes().get(0).device());
    }
}
