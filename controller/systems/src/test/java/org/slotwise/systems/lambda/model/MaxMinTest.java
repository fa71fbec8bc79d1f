// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.lambda.app.Grants;

class MaxMinTest {
    private static final Path EXAMPLES = Path.of("../../engine/crates/lambda/examples.json");

    private static LambdaSession session(OptionalDouble demand, double weight, Integer... links) {
        return new LambdaSession(List.of(links), demand, weight);
    }

    @Test
    void examplesOfEveryLanguage() throws IOException {
        JsonNode examples = new ObjectMapper().readTree(EXAMPLES.toFile()).get("max-min");
        assertFalse(examples.isEmpty());
        for (JsonNode example : examples) {
            String name = example.get("name").textValue();
            List<Double> capacities = new ArrayList<>();
            example.get("capacities").forEach(each -> capacities.add(each.doubleValue()));
            List<LambdaSession> sessions = new ArrayList<>();
            List<Double> wanted = new ArrayList<>();
            for (JsonNode each : example.get("sessions")) {
                List<Integer> links = new ArrayList<>();
                each.get("links").forEach(link -> links.add(link.intValue()));
                OptionalDouble demand = each.has("demand")
                        ? OptionalDouble.of(each.get("demand").doubleValue()) : OptionalDouble.empty();
                sessions.add(new LambdaSession(links, demand, each.path("weight").asDouble(1)));
                wanted.add(each.get("rate").doubleValue());
            }
            double tolerance = 1e-12 * Collections.max(capacities);
            double[] rates = wanted.stream().mapToDouble(Double::doubleValue).toArray();
            LambdaNetwork network = new LambdaNetwork(capacities, sessions);
            MaxMin fair = new MaxMin(network);
            assertArrayEquals(rates, fair.rates(), tolerance, name);
            assertEquals(Optional.empty(), Certificate.refute(network, rates, tolerance), name);
            assertTrue(fair.rounds() <= rates.length, name);
        }
    }

    @Property(seed = "20260801")
    void ratesOfAnyNetworkHoldBeforeTheCertificate(@ForAll @IntRange(min = 1, max = 12) int links,
            @ForAll @IntRange(min = 1, max = 40) int sessions, @ForAll Random random) {
        LambdaNetwork network = random(links, sessions, random);
        double[] rates = new MaxMin(network).rates();
        assertEquals(Optional.empty(), Certificate.refute(network, rates, 1e-9));
        // Any other rates are not: one session more, or less, by what cannot be rounding.
        int other = random.nextInt(sessions);
        double fair = rates[other];
        rates[other] = fair + 0.01;
        assertTrue(Certificate.refute(network, rates, 1e-9).isPresent());
        rates[other] = fair - 0.01;
        assertTrue(Certificate.refute(network, rates, 1e-9).isPresent());
    }

    @Property(seed = "20261124")
    void leastRatesThatFitAreKept(@ForAll @IntRange(min = 1, max = 8) int links,
            @ForAll @IntRange(min = 1, max = 24) int sessions, @ForAll Random random) {
        LambdaNetwork plain = random(links, sessions, random);
        double[] left = new double[links];
        for (int link = 0; link < links; link++) {
            left[link] = plain.capacity(link);
        }
        List<Double> capacities = new ArrayList<>();
        for (double capacity : left) {
            capacities.add(capacity);
        }
        List<LambdaSession> all = new ArrayList<>();
        for (LambdaSession each : plain.sessions()) {
            double room = each.links().stream().mapToDouble(link -> left[link]).min().orElseThrow();
            double least = random.nextInt(3) > 0 ? Math.min(each.wanted(), random.nextInt(5) / 4.0 * room) : 0;
            each.links().forEach(link -> left[link] -= least);
            all.add(new LambdaSession(each.links(), each.wanted() < Double.POSITIVE_INFINITY ? OptionalDouble.of(each.wanted()) : OptionalDouble.empty(),
                    each.weight(), least));
        }
        LambdaNetwork network = new LambdaNetwork(capacities, all);
        double[] rates = new MaxMin(network).rates();
        assertEquals(Optional.empty(), Certificate.refute(network, rates, 1e-9));
        int other = random.nextInt(sessions);
        rates[other] += 0.01;
        assertTrue(Certificate.refute(network, rates, 1e-9).isPresent());
        rates[other] -= 0.02;
        assertTrue(Certificate.refute(network, rates, 1e-9).isPresent());
    }

    @Property(tries = 50, seed = "20261126")
    void weightsFarApartOnFastLinksAreShared(@ForAll @IntRange(min = 1, max = 40) int links, @ForAll @IntRange(min = 2, max = 400) int sessions,
            @ForAll Random random) {
        List<Integer> numbers = new ArrayList<>();
        for (int link = 0; link < links; link++) {
            numbers.add(link);
        }
        List<LambdaSession> all = new ArrayList<>();
        for (int session = 0; session < sessions; session++) {
            Collections.shuffle(numbers, random);
            OptionalDouble demand = random.nextInt(3) == 0 ? OptionalDouble.of(Math.pow(10, 11 * random.nextDouble())) : OptionalDouble.empty();
            all.add(new LambdaSession(numbers.subList(0, 1 + random.nextInt(Math.min(4, links))), demand, Math.pow(10, 6 * random.nextDouble() - 3)));
        }
        LambdaNetwork network = new LambdaNetwork(Collections.nCopies(links, 4e11), all);
        assertEquals(Optional.empty(), Certificate.refute(network, new MaxMin(network).rates(), Grants.TOLERANCE_BPS));
    }

    @Test
    void whoHasALeastRateRisesWithTheOthersOnceTheyHaveAsMuch() {
        // Held at 0.6 on the first link, where the others have 0.2 each; of the second link it has its least rate, too.
        LambdaNetwork held = new LambdaNetwork(List.of(1.0, 1.0), List.of(
                new LambdaSession(List.of(0, 1), OptionalDouble.empty(), 1, 0.6), session(OptionalDouble.empty(), 1, 0),
                session(OptionalDouble.empty(), 1, 0), session(OptionalDouble.empty(), 1, 1)));
        assertArrayEquals(new double[] {0.6, 0.2, 0.2, 0.4}, new MaxMin(held).rates(), 1e-12);
        LambdaNetwork risen = new LambdaNetwork(List.of(1.0), List.of(
                new LambdaSession(List.of(0), OptionalDouble.empty(), 1, 0.3), session(OptionalDouble.of(0.1), 1, 0),
                session(OptionalDouble.empty(), 1, 0)));
        assertArrayEquals(new double[] {0.45, 0.1, 0.45}, new MaxMin(risen).rates(), 1e-12);
        assertRefuted("below its minimum rate", risen, 0.2, 0.1, 0.7);
        for (double least : new double[] {-1, Double.NaN, 0.6}) {
            assertThrows(IllegalArgumentException.class, () -> new LambdaSession(List.of(0), OptionalDouble.of(0.5), 1, least));
        }
    }

    private static LambdaNetwork random(int links, int sessions, Random random) {
        List<Double> capacities = new ArrayList<>();
        List<Integer> numbers = new ArrayList<>();
        for (int link = 0; link < links; link++) {
            capacities.add(0.5 + random.nextDouble());
            numbers.add(link);
        }
        List<LambdaSession> all = new ArrayList<>();
        for (int session = 0; session < sessions; session++) {
            Collections.shuffle(numbers, random);
            OptionalDouble demand = random.nextBoolean() ? OptionalDouble.of(random.nextDouble()) : OptionalDouble.empty();
            all.add(new LambdaSession(numbers.subList(0, 1 + random.nextInt(Math.min(4, links))), demand, 0.5 + random.nextInt(4)));
        }
        return new LambdaNetwork(capacities, all);
    }

    @Test
    void theCertificateSaysWhatIsWrong() {
        LambdaNetwork network = new LambdaNetwork(List.of(1.0, 1.0, 1.0), List.of(
                session(OptionalDouble.empty(), 1, 0, 2), session(OptionalDouble.of(0.2), 1, 1, 2)));
        assertEquals(Optional.empty(), Certificate.refute(network, new double[] {0.8, 0.2}, 1e-9));
        assertRefuted("1 rates; expected 2", network, 1);
        assertRefuted("session 0: expected a finite rate", network, Double.NaN, 0.2);
        assertRefuted("session 1: expected a finite rate", network, 0.8, -0.2);
        assertRefuted("session 1: rate 0.3 is above its demand 0.2", network, 0.7, 0.3);
        assertRefuted("link 2: load", network, 0.9, 0.2);
        assertRefuted("session 0: rate 0.7 is below its demand", network, 0.7, 0.2);
        // Full, but the other one is smaller and wants more.
        assertRefuted("session 1: rate 0.1 is below its demand", network, 0.9, 0.1);
    }

    private static void assertRefuted(String reason, LambdaNetwork network, double... rates) {
        String told = Certificate.refute(network, rates, 1e-9).orElse("nothing");
        assertTrue(told.contains(reason), told);
    }

    @Test
    void whatIsNoNetworkIsRefused() {
        OptionalDouble greedy = OptionalDouble.empty();
        for (double weight : new double[] {0, -1, Double.NaN, 1e-4, 1001}) {
            assertThrows(IllegalArgumentException.class, () -> session(greedy, weight, 0));
        }
        for (double demand : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThrows(IllegalArgumentException.class, () -> session(OptionalDouble.of(demand), 1, 0));
        }
        assertThrows(IllegalArgumentException.class, () -> session(greedy, 1));
        assertThrows(IllegalArgumentException.class, () -> session(greedy, 1, 0, 1, 0));
        for (double capacity : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThrows(IllegalArgumentException.class, () -> new LambdaNetwork(List.of(capacity), List.of()));
        }
        for (int link : new int[] {-1, 1}) {
            assertThrows(IllegalArgumentException.class,
                    () -> new LambdaNetwork(List.of(1.0), List.of(session(greedy, 1, link))));
        }
    }
}
