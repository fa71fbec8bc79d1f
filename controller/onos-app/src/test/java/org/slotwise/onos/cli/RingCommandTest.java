// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.apps.Choice;
import org.slotwise.apps.Running;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.ReportMessage;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.ring.rest.RingResources;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

class RingCommandTest {
    private final FairnessApp app = new FairnessApp(Rings.of(2).mode(RingMode.CONTROLLER).build());
    private final List<Choice<RingView>> chosen = new ArrayList<>();
    private final RingResources ring = new RingResources(new Running<>() {
        @Override
        public RingView view() {
            return app.view();
        }

        @Override
        public void order(Event.Order order) {
            app.onEvent(0, order);
        }

        @Override
        public void choose(Choice<RingView> choice) {
            chosen.add(choice);
        }
    });

    @Test
    void stationsAndCongestedLinksHaveALineEach() throws Exception {
        app.onEvent(0, new Event.DeviceReady(Rings.device(1), List.of()));
        app.onEvent(0, new Event.PacketIn(Rings.device(1), WireConstants.PORT_LINECARD,
                new ReportMessage(1, 0, 1).source(0, WireConstants.NO_LIMIT).source(1, WireConstants.NO_LIMIT).encode()));
        assertEquals(List.of("ring ring: mode=controller, stations=1 of 2, reroutes=0, reports=1, messages=2",
                "station 0, node0, device 3001: disconnected, weight=1, ports down=[]",
                "station 1, node1, device 3002: connected, weight=1, ports down=[]",
                "ringlet 0, head 1: congested, advertised=63750000 bit/s, link=0 bit/s, reach=1"),
                RingCommand.lines(AppCommand.read(ring, "status"), AppCommand.read(ring, "stations"), AppCommand.read(ring, "spans")));
    }

    @Test
    void whatRestTakesIsTakenAndTheRestIsRefused() throws Exception {
        assertEquals("{\"mode\":\"adaptive\"}", AppCommand.change(ring, "mode", "{\"mode\": \"adaptive\"}").toString());
        assertEquals(1, chosen.size());
        assertThrows(InvalidJsonException.class, () -> AppCommand.change(ring, "mode", "{\"mode\": \"best\"}"));
        assertThrows(InvalidJsonException.class, () -> AppCommand.change(ring, "spans", "{}"));
        assertThrows(InvalidJsonException.class, () -> AppCommand.change(ring, "mode", "no json"));
        assertThrows(InvalidJsonException.class, () -> AppCommand.read(ring, "colours"));
        assertEquals(1, chosen.size());
    }

    @Test
    void anApplicationIsFoundByItsName() throws Exception {
        assertEquals(ring, AppCommand.named(List.of(ring), "ring"));
        assertEquals("application: unknown application 'rings'; expected one of ring",
                assertThrows(InvalidJsonException.class, () -> AppCommand.named(List.of(ring), "rings")).getMessage());
        assertEquals(List.of("ring: " + ring.description()
                + " Resources: status, stations, ways, spans, mode, weights, classes, ports; changeable: classes, mode, ports, weights"),
                AppCommand.lines(List.of(ring)));
    }
}
