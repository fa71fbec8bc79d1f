// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.app;

import org.slotwise.control.Event;
import org.slotwise.systems.shared.model.TrafficClass;

/** Someone gives a class another part of the edges' outputs. */
public final class WeightChosen extends Event.Order {
    private final int trafficClass;
    private final double weight;

    /** Takes the class and its weight, as {@link TrafficClass#isWeight} has it. */
    public WeightChosen(int trafficClass, double weight) {
        if (!TrafficClass.isWeight(weight)) {
            throw new IllegalArgumentException("weight: expected " + TrafficClass.MIN_WEIGHT + " .. " + TrafficClass.MAX_WEIGHT + ", got " + weight);
        }
        this.trafficClass = trafficClass;
        this.weight = weight;
    }

    /** The class. */
    public int trafficClass() {
        return trafficClass;
    }

    /** Its weight. */
    public double weight() {
        return weight;
    }
}
