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
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.ops.app.LabelView;
import org.slotwise.systems.ops.app.TargetChosen;
import org.slotwise.systems.ops.model.OpsNetwork;
import org.slotwise.systems.ops.model.OpsSwitch;

/**
 * A target that somebody chooses for the agent of an output, and how it is kept: with the one of the configuration that it took the place
 * of, so that of a network that is configured otherwise now what is configured holds.
 */
final class KeptTarget implements Choice<LabelView> {
    private static final String PREFIX = "target_";
    private static final Pattern VALUE = Pattern.compile("([0-9.E-]{1,32}) of ([0-9.E-]{1,32})");

    private final TargetChosen chosen;
    private final double configured;

    /** Takes another target of an output that has an agent. */
    KeptTarget(OpsNetwork network, TargetChosen chosen) {
        this.chosen = chosen;
        this.configured = network.settings().target();
    }

    @Override
    public String what() {
        return "target";
    }

    @Override
    public String title() {
        return "the target utilization";
    }

    @Override
    public Event.Order order() {
        return chosen;
    }

    @Override
    public ObjectNode told() {
        return OpsCodec.target(chosen.device(), chosen.port(), chosen.target());
    }

    @Override
    public ObjectNode audited(LabelView before) {
        return JsonNodeFactory.instance.objectNode().put("device_id", chosen.device().value()).put("port", chosen.port())
                .put("before", before.nodes().get(chosen.device()).targets().get(chosen.port())).put("after", chosen.target());
    }

    @Override
    public void keep(AppState state) throws IOException {
        state.keep(key(chosen.device(), chosen.port()), chosen.target() + " of " + configured);
    }

    /** What makes a target of key and text, if it still holds in a network. */
    static BiFunction<String, String, Optional<Event.Order>> reader(OpsNetwork network) {
        Map<String, TargetChosen> configured = new TreeMap<>();
        if (network.settings().probes().isPresent()) {
            for (OpsSwitch each : network.switches()) {
                for (int port : network.dataPorts(network.switchNumber(each.device()).orElseThrow())) {
                    configured.put(key(each.device(), port), new TargetChosen(each.device(), port, network.settings().target()));
                }
            }
        }
        return (key, text) -> Optional.ofNullable(configured.get(key)).flatMap(one -> chosen(one, text));
    }

    private static Optional<Event.Order> chosen(TargetChosen configured, String text) {
        Matcher value = VALUE.matcher(text);
        try {
            return value.matches() && Double.parseDouble(value.group(2)) == configured.target()
                    ? Optional.of(new TargetChosen(configured.device(), configured.port(), Double.parseDouble(value.group(1)))) : Optional.empty();
        } catch (IllegalArgumentException e) {
            // No number, or no target.
            return Optional.empty();
        }
    }

    private static String key(DeviceId device, int port) {
        return PREFIX + device + "_" + port;
    }
}
