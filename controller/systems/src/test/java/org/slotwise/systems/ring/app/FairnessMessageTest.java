// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;
import org.slotwise.systems.ring.model.Rings;
import org.slotwise.wire.WireConstants;

class FairnessMessageTest {
    private static final int STATIONS = 255;

    private static long least(List<FairnessMessage.Limit> limits, int hops) {
        return limits.stream().filter(limit -> limit.hops() < hops).mapToLong(FairnessMessage.Limit::rate).min().orElse(Long.MAX_VALUE);
    }

    /** Of any limits: at most four that a station takes, none allows more than all of them do, and without a fifth none less. */
    @Property(seed = "20261122")
    void aListAllowsNoMoreThanAllLimits(@ForAll @Size(max = 20) List<@LongRange(min = 1, max = 20) Long> rates) {
        List<FairnessMessage.Limit> all = new ArrayList<>();
        for (int i = 0; i < rates.size(); i++) {
            all.add(new FairnessMessage.Limit(3 + 2 * i, 2 * i, rates.get(i)));
        }
        List<FairnessMessage.Limit> list = FairnessMessage.list(all);
        assertTrue(list.size() <= WireConstants.FAIRNESS_ENTRIES);
        for (int hops = 1; hops < 42; hops++) {
            boolean isExact = list.size() < WireConstants.FAIRNESS_ENTRIES || hops <= list.get(list.size() - 1).hops() || hops == 41;
            assertTrue(least(list, hops) <= least(all, hops));
            if (isExact) {
                assertEquals(least(all, hops), least(list, hops), "beyond " + hops + " hops");
            }
        }
        ToldLimits told = new ToldLimits(FairnessMessage.encode(Rings.of(STATIONS).station(3), 3, 1, 0xffffffffL, list), 3, STATIONS);
        assertEquals(list.size(), told.entries().size());
        assertEquals(0xffffffffL, told.sequence());
        assertEquals(1, told.ringlet());
    }
}
