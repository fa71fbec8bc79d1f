// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Ranges;
import org.slotwise.systems.ring.model.Station;
import org.slotwise.systems.ring.model.TrafficRule;
import org.slotwise.wire.Limits;
import org.slotwise.wire.RingMode;

/** Someone changes something of a ring. */
public abstract class RingChoice extends Event.Order {
    private RingChoice() {
    }

    /** How fairness is told. */
    public static final class Mode extends RingChoice {
        private final RingMode mode;

        /** Takes the mode of all stations. */
        public Mode(RingMode mode) {
            this.mode = Objects.requireNonNull(mode);
        }

        /** The mode. */
        public RingMode mode() {
            return mode;
        }
    }

    /** Another weight of a station. */
    public static final class Weight extends RingChoice {
        private final DeviceId device;
        private final int weight;

        /** Takes the station and {@link Limits#MIN_RING_WEIGHT} .. {@link Limits#MAX_RING_WEIGHT}. */
        public Weight(DeviceId device, int weight) {
            Ranges.check("weight", weight, Limits.MIN_RING_WEIGHT, Limits.MAX_RING_WEIGHT);
            this.device = Objects.requireNonNull(device);
            this.weight = weight;
        }

        /** The station. */
        public DeviceId device() {
            return device;
        }

        /** The weight. */
        public int weight() {
            return weight;
        }
    }

    /** Other classes of a station's traffic. */
    public static final class Classes extends RingChoice {
        private final DeviceId device;
        private final Set<Integer> ports;
        private final List<TrafficRule> rules;

        /** Takes the station, and all of its classes; throws InvalidNetworkException with place and reason if they do not fit it. */
        public Classes(Station station, List<TrafficRule> rules) {
            TrafficRule.check("classes", rules, station.hostPorts());
            this.device = station.device();
            this.ports = station.hostPorts();
            this.rules = List.copyOf(rules);
        }

        /** The station. */
        public DeviceId device() {
            return device;
        }

        /** Ports that hosts are at, of which the classes are. */
        Set<Integer> ports() {
            return ports;
        }

        /** All of its classes. */
        public List<TrafficRule> rules() {
            return rules;
        }
    }
}
