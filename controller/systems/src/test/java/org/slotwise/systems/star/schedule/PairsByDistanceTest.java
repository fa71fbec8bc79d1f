// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class PairsByDistanceTest {
    @Property(seed = "20261126")
    void everyPairHasAPlaceOfItsOwnBehindThatOfTheSenderBefore(@ForAll @IntRange(min = 2, max = 150) int edges) {
        PairsByDistance pairs = new PairsByDistance(edges);
        Set<Integer> places = new HashSet<>();
        for (int distance = 0; distance < edges; distance++) {
            for (int sender = 0; sender < edges; sender++) {
                int receiver = pairs.receiver(distance, sender);
                assertEquals((sender + distance) % edges, receiver);
                assertEquals(distance, pairs.distance(sender, receiver));
                int place = pairs.place(sender, receiver);
                assertTrue(place >= 0 && place < pairs.length() && places.add(place));
                assertEquals(pairs.place(0, pairs.receiver(distance, 0)) + sender, place);
            }
        }
    }
}
