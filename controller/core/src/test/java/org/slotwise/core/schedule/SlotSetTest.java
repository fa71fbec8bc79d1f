// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class SlotSetTest {
    private static final int SLOTS = 130;

    @Property(seed = "20260701")
    void neighboursAreThoseOfASortedSet(@ForAll @Size(max = 12) List<@IntRange(max = SLOTS - 1) Integer> members,
            @ForAll @IntRange(max = SLOTS) int slot) {
        SlotSet set = SlotSet.empty(SLOTS);
        TreeSet<Integer> sorted = new TreeSet<>();
        for (int member : members) {
            set.add(member);
            sorted.add(member);
        }
        assertEquals(orNone(sorted.higher(slot)), set.after(slot));
        assertEquals(orNone(sorted.lower(slot)), set.before(slot));
        assertEquals(orNone(sorted.isEmpty() ? null : sorted.first()), set.first());
        assertEquals(sorted.contains(slot), slot < SLOTS && set.contains(slot));
    }

    private static int orNone(Integer slot) {
        return slot == null ? SlotSet.NONE : slot;
    }
}
