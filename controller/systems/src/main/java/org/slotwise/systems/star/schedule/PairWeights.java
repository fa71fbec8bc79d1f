// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Weights of edge pairs and which of them go first, as a list of rules, the last that fits counts:
 * {@code 0>1=4, *>2=2, 3>*=first}. Edges are places in the order of their numbers, from 0; {@code *} is any. A weight is
 * 1 .. {@link #MAX_WEIGHT}; {@code first} puts a pair into the class that is served before all others.
 */
final class PairWeights {
    /** Every pair alike. */
    static final PairWeights ALIKE = new PairWeights(List.of());
    static final int MAX_WEIGHT = 64;
    private static final int MAX_RULES = 2048;
    private static final Pattern RULE = Pattern.compile("(\\*|\\d{1,4})>(\\*|\\d{1,4})=(first|\\d{1,3})");
    private static final int ANY = -1;

    private final List<int[]> rules;
    private final boolean ranked;
    private final boolean alike;
    private int edges;
    private byte[] weight = {};
    private byte[] rank = {};

    private PairWeights(List<int[]> rules) {
        this.rules = rules;
        this.ranked = rules.stream().anyMatch(rule -> rule[2] == 0);
        this.alike = rules.stream().allMatch(rule -> rule[2] == 0);
    }

    /** Reads a list of rules; throws {@link InvalidSettingsException} that says which is wrong. */
    static PairWeights parse(String text) throws InvalidSettingsException {
        List<int[]> rules = new ArrayList<>();
        for (String part : text.isBlank() ? new String[0] : text.split(",", -1)) {
            Matcher rule = RULE.matcher(part.strip());
            int value = rule.matches() && !rule.group(3).equals("first") ? Integer.parseInt(rule.group(3)) : 1;
            if (!rule.matches() || value < 1 || value > MAX_WEIGHT) {
                throw new InvalidSettingsException("invalid rule '" + part.strip() + "'; expected sender>receiver=weight with"
                        + " edges counted from 0 or *, and a weight 1 .. " + MAX_WEIGHT + " or 'first'");
            }
            if (rules.size() == MAX_RULES) {
                throw new InvalidSettingsException("too many rules; expected at most " + MAX_RULES);
            }
            rules.add(new int[] {edge(rule.group(1)), edge(rule.group(2)),
                    rule.group(3).equals("first") ? 0 : value});
        }
        return new PairWeights(rules);
    }

    private static int edge(String text) {
        return text.equals("*") ? ANY : Integer.parseInt(text);
    }

    /** The highest place of an edge that a rule names; -1 if none does. */
    int highestEdge() {
        return rules.stream().mapToInt(rule -> Math.max(rule[0], rule[1])).max().orElse(ANY);
    }

    /** Applies the rules to a network of so many edges. */
    PairWeights forEdges(int count) {
        PairWeights result = new PairWeights(rules);
        result.edges = count;
        result.weight = new byte[count * count];
        result.rank = new byte[count * count];
        Arrays.fill(result.weight, (byte) 1);
        Arrays.fill(result.rank, (byte) (ranked ? 1 : 0));
        for (int[] rule : rules) {
            for (int i = rule[0] == ANY ? 0 : rule[0]; i < (rule[0] == ANY ? count : Math.min(count, rule[0] + 1)); i++) {
                for (int j = rule[1] == ANY ? 0 : rule[1];
                        j < (rule[1] == ANY ? count : Math.min(count, rule[1] + 1)); j++) {
                    if (rule[2] == 0) {
                        result.rank[i * count + j] = 0;
                    } else {
                        result.weight[i * count + j] = (byte) rule[2];
                    }
                }
            }
        }
        return result;
    }

    /** Whether all weights are 1. */
    boolean areAlike() {
        return alike;
    }

    /** Classes that are served one after the other. */
    int classes() {
        return ranked ? 2 : 1;
    }

    /** Weight of a pair. */
    int weight(int i, int j) {
        return weight[i * edges + j];
    }

    /** Class of a pair, 0 first. */
    int rank(int i, int j) {
        return rank[i * edges + j];
    }
}
