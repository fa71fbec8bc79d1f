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
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.ring.rest.RingResources;
import org.slotwise.wire.RingMode;

class AppCommandTest {
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
