// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.ops.model.Meshes;
import org.slotwise.systems.ops.model.OpsEdge;
import org.slotwise.systems.ops.model.OpsLink;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.wire.WireConstants;

class RanksTest {
    private static final long NONE = Long.MAX_VALUE;
    /** Makes one number of delay and hops; hops are fewer. */
    private static final long HOPS = 1000;

    private static Ranks all(OpsNetwork network) {
        return without(network, Set.of());
    }

    /** Fibres of switches that are dark: switch, fibre. */
    private static Ranks without(OpsNetwork network, Set<List<Integer>> dark) {
        return new Ranks(network, (number, fibre) -> dark.contains(List.of(number, fibre)), (edge, fibre) -> false);
    }

    /** Where a fibre leads to, by switch and fibre: the other switch, the fibre there. Those of edges are not there. */
    private static Map<List<Integer>, int[]> ends(OpsNetwork network) {
        Map<List<Integer>, int[]> ends = new HashMap<>();
        for (OpsLink link : network.links()) {
            ends.put(List.of(link.a(), link.fibreAtA()), new int[] {link.b(), link.fibreAtB()});
            ends.put(List.of(link.b(), link.fibreAtB()), new int[] {link.a(), link.fibreAtA()});
        }
        return ends;
    }

    /** Switches on the way by first choices. */
    private static List<Integer> way(OpsNetwork network, Ranks ranks, int from, OpsEdge to) {
        Map<List<Integer>, int[]> ends = ends(network);
        List<Integer> way = new ArrayList<>(List.of(from));
        int at = from;
        while (at != to.at()) {
            at = ends.get(List.of(at, ranks.fibres(at, to).get(0)))[0];
            way.add(at);
            assertTrue(way.size() <= network.switches().size(), "goes round: " + way);
        }
        assertEquals(List.of(to.fibre()), ranks.fibres(at, to));
        return way;
    }

    /** Least delay and hops as one number, without one switch, by going over all links until nothing changes (Bellman and Ford). */
    private static long[] distances(OpsNetwork network, Set<List<Integer>> dark, int goal, int without) {
        long[] distances = new long[network.switches().size()];
        Arrays.fill(distances, NONE);
        distances[goal] = 0;
        for (boolean isNew = true; isNew;) {
            isNew = false;
            for (OpsLink link : network.links()) {
                if (!isDark(link, dark) && link.a() != without && link.b() != without) {
                    isNew |= extend(distances, link.a(), link.b(), link.delayNs());
                    isNew |= extend(distances, link.b(), link.a(), link.delayNs());
                }
            }
        }
        return distances;
    }

    private static boolean isDark(OpsLink link, Set<List<Integer>> dark) {
        return dark.contains(List.of(link.a(), link.fibreAtA())) || dark.contains(List.of(link.b(), link.fibreAtB()));
    }

    private static boolean extend(long[] distances, int from, int to, long delayNs) {
        boolean isShorter = distances[from] != NONE && distances[from] + delayNs * HOPS + 1 < distances[to];
        if (isShorter) {
            distances[to] = distances[from] + delayNs * HOPS + 1;
        }
        return isShorter;
    }

    /** What docs/ops.md says, word by word. */
    private static List<Integer> expected(OpsNetwork network, Set<List<Integer>> dark, int from, int goal) {
        long own = distances(network, dark, goal, -1)[from];
        long[] around = distances(network, dark, goal, from);
        List<long[]> choices = new ArrayList<>();
        for (OpsLink link : network.links()) {
            boolean isA = link.a() == from;
            int other = isA ? link.b() : link.a();
            if ((isA || link.b() == from) && !isDark(link, dark) && around[other] != NONE) {
                choices.add(new long[] {around[other] < own ? 0 : 1, around[other] + link.delayNs() * HOPS + 1, other,
                    isA ? link.fibreAtA() : link.fibreAtB()});
            }
        }
        choices.sort(Arrays::compare);
        List<Integer> fibres = new ArrayList<>();
        choices.stream().limit(4).forEach(choice -> fibres.add((int) choice[3]));
        return fibres;
    }

    @Test
    void nearerNeighboursComeFirstThenDetours() {
        OpsNetwork network = Meshes.triangle().build();
        Ranks ranks = all(network);
        // s0: fibre 0 to s1 (5 ms), 1 to s2 (7 ms), 2 to e0.
        assertEquals(List.of(2), ranks.fibres(0, network.edges().get(0)));
        assertEquals(List.of(0, 1), ranks.fibres(0, network.edges().get(1)));
        assertEquals(List.of(1, 0), ranks.fibres(0, network.edges().get(2)));
        assertEquals(List.of(1, 0), ranks.fibres(1, network.edges().get(2)), "s1: 3 ms, or 12 ms by s0");
    }

    @Test
    void aNeighbourThatIsNotNearerComesAfterALongerWayByOneThatIs() {
        // By s1 it is 2, which is all of the way; by s3, which is at 4 itself, 1 + 4; by s2, which is nearer than s0, 6.
        OpsNetwork network = Meshes.of(5).link(0, 1, 1).link(1, 4, 1).link(0, 2, 5).link(2, 4, 1).link(0, 3, 1).link(3, 4, 4).build();
        assertEquals(List.of(0, 1, 2), all(network).fibres(0, network.edges().get(4)));
    }

    @Test
    void fourOfManyAreTakenAndOfEqualOnesThoseWithLowNumbers() {
        Meshes mesh = Meshes.of(7);
        for (int each = 5; each >= 1; each--) {
            mesh.link(0, each, 10).link(each, 6, 10);
        }
        OpsNetwork network = mesh.build();
        assertEquals(List.of(4, 3, 2, 1), all(network).fibres(0, network.edges().get(6)), "fibre 4 goes to s1, ..., fibre 0 to s5");
        OpsNetwork twins = Meshes.of(2).link(0, 1, 10).link(0, 1, 10).link(0, 1, 9).build();
        assertEquals(List.of(2, 0, 1), all(twins).fibres(0, twins.edges().get(1)));
    }

    @Test
    void withoutAWayThereIsNoChoice() {
        OpsNetwork network = Meshes.of(3).link(0, 1, 10).build();
        assertEquals(List.of(), all(network).fibres(0, network.edges().get(2)));
        Ranks edgeIsDark = new Ranks(network, (number, fibre) -> false, (edge, fibre) -> edge.number() == 1);
        assertEquals(List.of(), edgeIsDark.fibres(0, network.edges().get(1)));
        assertEquals(List.of(), edgeIsDark.fibres(1, network.edges().get(1)));
        assertEquals(List.of(0), edgeIsDark.fibres(1, network.edges().get(0)));
    }

    @Test
    void followingFirstChoicesArrivesAndAllChoicesAreThoseOfTheRuleOnRandomMeshesBeforeAndAfterCuts() {
        int arrived = 0;
        int most = 0;
        for (int seed = 0; seed < 400; seed++) {
            Random random = new Random(seed);
            OpsNetwork network = Meshes.random(random).build();
            Set<List<Integer>> dark = new HashSet<>();
            for (OpsLink link : network.links()) {
                if (random.nextInt(8) == 0) {
                    dark.add(random.nextBoolean() ? List.of(link.a(), link.fibreAtA()) : List.of(link.b(), link.fibreAtB()));
                }
            }
            for (Set<List<Integer>> cut : List.of(Set.<List<Integer>>of(), dark)) {
                Ranks ranks = without(network, cut);
                for (OpsEdge edge : network.edges()) {
                    for (int from = 0; from < network.switches().size(); from++) {
                        List<Integer> fibres = ranks.fibres(from, edge);
                        assertEquals(from == edge.at() ? List.of(edge.fibre()) : expected(network, cut, from, edge.at()), fibres,
                                "seed " + seed + ", from " + from + " to " + edge.name());
                        if (!fibres.isEmpty()) {
                            way(network, ranks, from, edge);
                            arrived++;
                            most = Math.max(most, fibres.size());
                        }
                    }
                }
            }
        }
        assertTrue(arrived > 10_000, "only " + arrived);
        assertEquals(WireConstants.FIBRE_CHOICES, most);
    }

    /** What the facts say of it: 2.385 hops on average, 2 to 23 pairs on a link, 39.4 ms there and back with 0.1 ms at each end. */
    @Test
    void nsfnetHasTheWaysOfTheFacts() {
        OpsNetwork network = Meshes.nsfnet().build();
        Ranks ranks = all(network);
        Map<Set<Integer>, Long> delays = new HashMap<>();
        network.links().forEach(link -> delays.put(Set.of(link.a(), link.b()), link.delayNs()));
        Map<List<Integer>, Integer> pairs = new HashMap<>();
        int hops = 0;
        long longestNs = 0;
        for (OpsEdge edge : network.edges()) {
            for (OpsEdge other : network.edges()) {
                if (edge == other) {
                    continue;
                }
                List<Integer> way = way(network, ranks, edge.at(), other);
                List<Integer> back = way(network, ranks, other.at(), edge);
                Collections.reverse(back);
                assertEquals(way, back);
                long ns = 0;
                for (int hop = 1; hop < way.size(); hop++) {
                    pairs.merge(way.subList(hop - 1, hop + 1), 1, Integer::sum);
                    ns += delays.get(Set.of(way.get(hop - 1), way.get(hop)));
                }
                hops += way.size() - 1;
                longestNs = Math.max(longestNs, ns);
            }
        }
        assertEquals(2.385, hops / 182.0, 0.0005);
        assertEquals(42, pairs.size());
        assertEquals(List.of(2, 23), List.of(Collections.min(pairs.values()), Collections.max(pairs.values())));
        assertEquals(19_500_000, longestNs);
    }

    @Test
    void aCutChangesOnlyRoutesThatHadItAmongTheirChoices() {
        OpsNetwork network = Meshes.nsfnet().build();
        Ranks before = all(network);
        OpsLink cut = network.links().get(17);
        Ranks after = without(network, Set.of(List.of(cut.a(), cut.fibreAtA())));
        Set<Integer> changed = new TreeSet<>();
        for (int from = 0; from < network.switches().size(); from++) {
            if (before.differences(after, from) > 0) {
                changed.add(from);
            }
            for (OpsEdge edge : network.edges()) {
                if (!after.fibres(from, edge).isEmpty()) {
                    way(network, after, from, edge);
                }
                boolean isGone = from == cut.a() && before.fibres(from, edge).contains(cut.fibreAtA());
                assertTrue(!isGone || !after.fibres(from, edge).contains(cut.fibreAtA()));
            }
        }
        assertTrue(changed.contains(cut.a()) && changed.contains(cut.b()), "changed: " + changed);
        assertEquals(0, before.differences(all(network), cut.a()));
    }
}
