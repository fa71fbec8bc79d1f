// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class PairsByDistanceTest {
    @Property(seed = "20261126")
    void everyPairHasAPlaceOfItsOwnThatACopyFills(@ForAll @IntRange(min = 2, max = 150) int edges, @ForAll Random random) {
        Square square = new Square(edges);
        int[] service = new int[square.length()];
        for (int k = 0; k < service.length; k++) {
            service[k] = random.nextInt();
        }
        PairsByDistance pairs = new PairsByDistance(edges);
        int[] copied = new int[pairs.length()];
        pairs.copy(service, square, copied);
        Set<Integer> places = new HashSet<>();
        for (int distance = 0; distance < edges; distance++) {
            for (int sender = 0; sender < edges; sender++) {
                int receiver = pairs.receiver(distance, sender);
                assertEquals((sender + distance) % edges, receiver);
                int place = pairs.place(sender, receiver);
                assertEquals(pairs.first(distance) + sender, place);
                assertTrue(places.add(place));
                assertEquals(service[square.entry(sender, receiver)], copied[place]);
            }
        }
    }
}
