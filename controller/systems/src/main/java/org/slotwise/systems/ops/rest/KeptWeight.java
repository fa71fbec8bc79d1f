// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slotwise.apps.Choice;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.app.WeightChosen;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.shared.model.TrafficClass;

/**
 * A weight that somebody chooses for a class, and how it is kept: with the one of the configuration that it took the place of, so that
 * of a network that is configured otherwise now what is configured holds.
 */
final class KeptWeight implements Choice<LabelView> {
    private static final String PREFIX = "weight_";
    private static final Pattern VALUE = Pattern.compile("([0-9.E-]{1,32}) of ([0-9.E-]{1,32})");

    private final WeightChosen chosen;
    private final double configured;

    /** Takes another weight of a class of the network. */
    KeptWeight(OpsNetwork network, WeightChosen chosen) {
        this.chosen = chosen;
        this.configured = network.settings().traffic().classes().get(chosen.trafficClass()).weight();
    }

    @Override
    public String what() {
        return "weight";
    }

    @Override
    public String title() {
        return "the weight";
    }

    @Override
    public Event.Order order() {
        return chosen;
    }

    @Override
    public ObjectNode told() {
        return OpsCodec.weight(chosen.trafficClass(), chosen.weight());
    }

    @Override
    public ObjectNode audited(LabelView before) {
        return JsonNodeFactory.instance.objectNode().put("class", chosen.trafficClass())
                .put("before", before.weights().get(chosen.trafficClass())).put("after", chosen.weight());
    }

    @Override
    public void keep(AppState state) throws IOException {
        state.keep(PREFIX + chosen.trafficClass(), chosen.weight() + " of " + configured);
    }

    /** What makes a weight of key and text, if it still holds in a network. */
    static BiFunction<String, String, Optional<Event.Order>> reader(OpsNetwork network) {
        Map<String, TrafficClass> configured = new TreeMap<>();
        if (network.settings().traffic().isFair()) {
            network.settings().traffic().classes().forEach((number, each) -> configured.put(PREFIX + number, each));
        }
        return (key, text) -> Optional.ofNullable(configured.get(key)).flatMap(one -> chosen(one, text));
    }

    private static Optional<Event.Order> chosen(TrafficClass configured, String text) {
        Matcher value = VALUE.matcher(text);
        try {
            return value.matches() && Double.parseDouble(value.group(2)) == configured.weight()
                    ? Optional.of(new WeightChosen(configured.number(), Double.parseDouble(value.group(1)))) : Optional.empty();
        } catch (IllegalArgumentException e) {
            // No number, or no weight.
            return Optional.empty();
        }
    }
}
