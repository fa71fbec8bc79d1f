// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Links are shared as the engine's oracle shares them: the same examples. */
class FillTest {
    private static final int STEPS = 2000;

    static List<RiasExample> examples() throws Exception {
        return RiasExample.all();
    }

    private static double sum(double[] rates, List<Integer> flows) {
        return flows.stream().mapToDouble(flow -> rates[flow]).sum();
    }

    /** What a flow gets of a link if it can use any amount, the others what they have. */
    private static double offer(RiasExample example, double[] rates, int link, int own) {
        Map<Integer, List<Integer>> byStation = new HashMap<>();
        List<Fill.Claim> siblings = new ArrayList<>();
        for (int flow : example.crossing(link)) {
            if (flow != own && example.source(flow) == example.source(own)) {
                siblings.add(new Fill.Claim(rates[flow], 1));
            } else if (flow != own) {
                byStation.computeIfAbsent(example.source(flow), any -> new ArrayList<>()).add(flow);
            }
        }
        List<Fill.Claim> others = new ArrayList<>();
        byStation.forEach((station, flows) -> others.add(new Fill.Claim(sum(rates, flows), example.weight(station))));
        return Fill.share(Fill.share(example.capacity(link), example.weight(example.source(own)), others), 1, siblings);
    }

    @ParameterizedTest
    @MethodSource("examples")
    void waterRisesAsInTheOracle(RiasExample example) {
        double[] rates = new double[example.flows()];
        for (int step = 0; step < STEPS; step++) {
            double[] offers = new double[rates.length];
            for (int flow = 0; flow < rates.length; flow++) {
                offers[flow] = example.demand(flow);
                for (int link : example.path(flow)) {
                    offers[flow] = Math.min(offers[flow], offer(example, rates, link, flow));
                }
            }
            for (int flow = 0; flow < rates.length; flow++) {
                rates[flow] += (offers[flow] - rates[flow]) / 2;
            }
        }
        for (int flow = 0; flow < rates.length; flow++) {
            assertEquals(example.rate(flow), rates[flow], 1e-9 * example.capacity(0), Arrays.toString(rates));
        }
    }

    @Test
    void whatOthersDoNotWantIsLeft() {
        assertEquals(12, Fill.share(12, 1, List.of()));
        assertEquals(5, Fill.share(12, 1, List.of(new Fill.Claim(9, 1), new Fill.Claim(2, 1))));
        assertEquals(8, Fill.share(12, 2, List.of(new Fill.Claim(9, 1))));
        assertEquals(3, Fill.share(12, 1, List.of(new Fill.Claim(Double.POSITIVE_INFINITY, 2), new Fill.Claim(3, 3))));
    }

    /** Nothing is given twice, nothing is left, and nobody who is held back has less by weight than another. */
    @Property(seed = "20261122")
    void allIsGivenAndWhoIsHeldBackHasTheSameByWeight(@ForAll @DoubleRange(max = 1e10) double amount,
            @ForAll @IntRange(min = 1, max = 255) int weight, @ForAll @Size(max = 20) List<@DoubleRange(max = 1e10) Double> wants,
            @ForAll @Size(20) List<@IntRange(min = 1, max = 255) Integer> weights) {
        List<Fill.Claim> claims = new ArrayList<>();
        for (int i = 0; i < wants.size(); i++) {
            claims.add(new Fill.Claim(wants.get(i), weights.get(i)));
        }
        double share = Fill.share(amount, weight, claims);
        double level = share / weight;
        double given = share + claims.stream().mapToDouble(claim -> Math.min(claim.rate(), level * claim.weight())).sum();
        assertEquals(amount, given, 1e-9 * (amount + 1));
    }
}
