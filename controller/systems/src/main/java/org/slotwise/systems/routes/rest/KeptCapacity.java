// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slotwise.apps.Choice;
import org.slotwise.apps.Kept;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.routes.app.CapacityChosen;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.RoutedNetwork;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.model.RouterPort;

/**
 * A capacity of XCP that somebody chooses, and how it is kept: with the one of the configuration that it took the place of, so that
 * a port that is configured otherwise now, or a port of another router, has what the configuration says.
 */
final class KeptCapacity implements Choice<RoutesView> {
    private static final String PREFIX = "capacity_";
    private static final Pattern VALUE = Pattern.compile("([0-9]{1,18}) of ([0-9]{1,18})");

    private final CapacityChosen chosen;
    private final long configuredBps;

    /** Takes another capacity of a port that XCP controls. */
    KeptCapacity(RoutedNetwork network, CapacityChosen chosen) {
        this.chosen = chosen;
        this.configuredBps = network.routers().get(chosen.device()).port(chosen.port()).orElseThrow().xcpBps().orElseThrow();
    }

    @Override
    public String what() {
        return "capacity";
    }

    @Override
    public String title() {
        return "the XCP capacity";
    }

    @Override
    public Event.Order order() {
        return chosen;
    }

    @Override
    public ObjectNode told() {
        return RoutesCodec.capacity(chosen.device(), chosen.port(), chosen.bps());
    }

    @Override
    public ObjectNode audited(RoutesView before) {
        return JsonNodeFactory.instance.objectNode().put("device_id", chosen.device().value()).put("port", chosen.port())
                .put("before", before.routers().get(chosen.device()).xcpBps().get(chosen.port())).put("after", chosen.bps());
    }

    @Override
    public void keep(AppState state) throws IOException {
        state.keep(key(chosen.device(), chosen.port()), chosen.bps() + " of " + configuredBps);
    }

    /** Those that still hold in a network. */
    static List<Event.Order> holding(AppState state, RoutedNetwork network) {
        Map<String, CapacityChosen> configured = new TreeMap<>();
        for (Router router : network.routers().values()) {
            for (RouterPort port : router.ports()) {
                port.xcpBps().ifPresent(bps ->
                        configured.put(key(router.device(), port.number()), new CapacityChosen(router.device(), port.number(), bps)));
            }
        }
        return Kept.holding(state, (key, text) -> Optional.ofNullable(configured.get(key)).flatMap(one -> chosen(one, text)));
    }

    private static Optional<Event.Order> chosen(CapacityChosen configured, String text) {
        Matcher value = VALUE.matcher(text);
        return value.matches() && Long.parseLong(value.group(2)) == configured.bps() && CapacityChosen.isPossible(Long.parseLong(value.group(1)))
                ? Optional.of(new CapacityChosen(configured.device(), configured.port(), Long.parseLong(value.group(1)))) : Optional.empty();
    }

    private static String key(DeviceId device, int port) {
        return PREFIX + device + "_" + port;
    }
}
