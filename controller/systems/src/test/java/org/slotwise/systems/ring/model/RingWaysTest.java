// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class RingWaysTest {
    /** Hops if each link of the way is there and has light; -1 if not. Goes from link to link. */
    private static int walked(int stations, long lit, int from, int to, int step) {
        int hops = 0;
        for (int at = from; at != to; at = Math.floorMod(at + step, stations)) {
            int link = step > 0 ? at : Math.floorMod(at - 1, stations);
            if ((lit >>> link & 1) == 0) {
                return -1;
            }
            hops++;
        }
        return hops;
    }

    /** Of any ring, whole or half, with any links dark: the shorter ringlet that is whole, else the other one, or none. */
    @Property(seed = "20261122")
    void eachPairTakesTheShorterWholeRinglet(@ForAll @IntRange(min = 2, max = 24) int stations, @ForAll int dark,
            @ForAll @IntRange(min = -1, max = 23) int missing) {
        Rings ring = Rings.of(stations);
        // One link in eight, or so.
        long lit = ~(dark & dark >>> 5 & dark >>> 11 & 0x7fffffffL);
        if (missing >= 0 && missing < stations) {
            ring.without(missing);
            lit &= ~(1L << missing);
        }
        long all = lit;
        RingWays ways = new RingWays(ring.build(), link -> (all >>> link & 1) == 1);
        for (int from = 0; from < stations; from++) {
            for (int to = 0; to < stations; to++) {
                if (from != to) {
                    int east = walked(stations, all, from, to, 1);
                    int west = walked(stations, all, from, to, -1);
                    Optional<Way> best = east >= 0 && (west < 0 || east <= west) ? Optional.of(new Way(0, east))
                            : west >= 0 ? Optional.of(new Way(1, west)) : Optional.empty();
                    assertEquals(best, ways.way(from, to), from + " to " + to + " of " + stations);
                }
            }
        }
    }

    @Test
    void aWholeRingIsHalvedAndHalfARingHasOneWay() {
        RingWays whole = new RingWays(Rings.of(5).build(), link -> true);
        assertEquals(Optional.of(new Way(0, 2)), whole.way(4, 1));
        assertEquals(Optional.of(new Way(1, 2)), whole.way(1, 4));
        RingWays half = new RingWays(Rings.of(5).without(4).build(), link -> true);
        assertEquals(Optional.of(new Way(1, 3)), half.way(4, 1));
        assertTrue(new RingWays(Rings.of(5).without(4).build(), link -> link != 2).way(1, 4).isEmpty());
    }
}
