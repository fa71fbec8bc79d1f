// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** One link, filled as water would: the same as {@code share} of {@code engine/crates/rias}, by whose examples it is tested. */
final class Fill {
    private Fill() {
    }

    /** Who wants no more than so much. */
    static final class Claim {
        private final double rate;
        private final double weight;

        /** Takes a rate, which may be endless, and a weight above 0. */
        Claim(double rate, double weight) {
            this.rate = rate;
            this.weight = weight;
        }

        double rate() {
            return rate;
        }

        double weight() {
            return weight;
        }

        private double level() {
            return rate / weight;
        }
    }

    /**
     * What who wants without bound gets of {@code amount}, shared with others that want no more than their claims: each gets the same
     * by weight, but no more than it wants.
     */
    static double share(double amount, double weight, List<Claim> others) {
        List<Claim> rising = new ArrayList<>(others);
        rising.sort(Comparator.comparingDouble(Claim::level));
        double left = amount;
        double weights = weight + others.stream().mapToDouble(claim -> claim.weight).sum();
        for (Claim claim : rising) {
            if (claim.level() >= left / weights) {
                break;
            }
            left -= claim.rate;
            weights -= claim.weight;
        }
        return left * weight / weights;
    }
}
