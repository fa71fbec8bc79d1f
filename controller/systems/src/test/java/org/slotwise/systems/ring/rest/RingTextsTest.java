// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Event;
import org.slotwise.systems.ring.app.FairnessApp;
import org.slotwise.systems.ring.app.ReportMessage;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.wire.RingMode;
import org.slotwise.wire.WireConstants;

class RingTextsTest {
    @Test
    void stationsAndCongestedLinksHaveALineEach() {
        FairnessApp app = new FairnessApp(Rings.of(2).mode(RingMode.CONTROLLER).build());
        app.onEvent(0, new Event.DeviceReady(Rings.device(1), List.of()));
        app.onEvent(0, new Event.PacketIn(Rings.device(1), WireConstants.PORT_LINECARD,
                new ReportMessage(1, 0, 1).source(0, WireConstants.NO_LIMIT).source(1, WireConstants.NO_LIMIT).encode()));
        assertEquals(List.of("ring ring: mode=controller, stations=1 of 2, reroutes=0, reports=1, messages=2"), RingTexts.status(app.view()));
        assertEquals(List.of("station 0, node0, device 3001: disconnected, weight=1, ports down=[]",
                "station 1, node1, device 3002: connected, weight=1, ports down=[]"), RingTexts.stations(app.view()));
        assertEquals(List.of("ringlet 0, head 1: congested, advertised=63750000 bit/s, link=0 bit/s, reach=1"), RingTexts.spans(app.view()));
    }
}
