// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.systems.ring.rest.RingParts;
import org.slotwise.wire.RingMode;

class AppCommandTest {
    private final OneSystem<RingView> host = new OneSystem<>(RingParts.of(Rings.of(2).mode(RingMode.CONTROLLER).build()), new TreeMap<>());
    private final SystemResources<RingView> ring = host.resources();

    @Test
    void whatRestTakesIsTakenAndTheRestIsRefused() throws Exception {
        assertEquals("{\"mode\":\"adaptive\"}", AppCommand.change(ring, "mode", "{\"mode\": \"adaptive\"}").toString());
        assertEquals(1, host.audited().size());
        assertThrows(InvalidJsonException.class, () -> AppCommand.change(ring, "mode", "{\"mode\": \"best\"}"));
        assertThrows(InvalidJsonException.class, () -> AppCommand.change(ring, "spans", "{}"));
        assertThrows(InvalidJsonException.class, () -> AppCommand.change(ring, "mode", "no json"));
        assertThrows(InvalidJsonException.class, () -> ring.read("colours"));
        assertEquals(1, host.audited().size());
    }

    @Test
    void anApplicationIsFoundByItsName() throws Exception {
        assertSame(ring, AppCommand.named(List.of(ring), "ring"));
        assertEquals("application: unknown application 'rings'; expected one of ring",
                assertThrows(InvalidJsonException.class, () -> AppCommand.named(List.of(ring), "rings")).getMessage());
        assertEquals(List.of("ring: " + ring.description()
                + " Resources: status, stations, links, ways, spans, mode, weights, classes, ports; changeable: mode, weights, classes, ports"),
                AppCommand.lines(List.of(ring)));
    }
}
