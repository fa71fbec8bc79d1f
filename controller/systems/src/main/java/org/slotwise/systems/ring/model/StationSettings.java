// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.List;

/** What can be changed at a station while it runs. Immutable. */
public final class StationSettings {
    private final int weight;
    private final List<TrafficRule> rules;

    /** Takes the weight and the classes, which fit the station. */
    public StationSettings(int weight, List<TrafficRule> rules) {
        this.weight = weight;
        this.rules = List.copyOf(rules);
    }

    /** Its weight. */
    public int weight() {
        return weight;
    }

    /** Classes of its hosts' traffic. */
    public List<TrafficRule> rules() {
        return rules;
    }
}
