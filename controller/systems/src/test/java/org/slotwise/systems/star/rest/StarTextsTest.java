// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.schedule.Kinds;

class StarTextsTest {
    private final Snapshot snapshot = StarApp.of(Networks.star(3, 6), Networks.scheduler(Kinds.ROTATION), () -> 0).view();

    @Test
    void statusIsOneLine() {
        assertEquals(List.of("phase=WAITING_FOR_DEVICES, version=unknown, switches=0 of 4, scheduler=rotation"), StarTexts.status(snapshot));
        assertEquals(List.of("{\"name\":\"rotation\",\"settings\":{\"estimator\":\"ewma\"}}"), StarTexts.scheduler(snapshot));
    }

    @Test
    void aSlotTableHasALinePerSlotAndAColumnPerEdge() {
        List<String> lines = StarTexts.schedule(snapshot);
        assertEquals(List.of("core 0", "slot     0   1   2"), lines.subList(0, 2));
        assertEquals(List.of("   3     -   -   -", "   4     -   -   -", "   5     -   -   -"), lines.subList(2, lines.size()));
    }
}
