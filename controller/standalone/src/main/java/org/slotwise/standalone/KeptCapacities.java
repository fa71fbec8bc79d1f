// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppState;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.routes.CapacityChosen;
import org.slotwise.routes.RoutedNetwork;
import org.slotwise.routes.Router;
import org.slotwise.routes.RouterPort;

/**
 * Capacities of XCP that somebody has chosen, over restarts: each with the one of the configuration that it took the place of, so that
 * a port that is configured otherwise now, or a port of another router, has what the configuration says.
 */
final class KeptCapacities {
    private static final Logger LOG = LoggerFactory.getLogger(KeptCapacities.class);
    private static final String PREFIX = "capacity_";
    private static final Pattern VALUE = Pattern.compile("([0-9]{1,18}) of ([0-9]{1,18})");

    private final AppState state;
    private final RoutedNetwork network;

    KeptCapacities(AppState state, RoutedNetwork network) {
        this.state = state;
        this.network = network;
    }

    /** Keeps a choice for a port that XCP controls. Throws IOException if it cannot. */
    void keep(CapacityChosen choice) throws IOException {
        long configured = network.routers().get(choice.device()).port(choice.port()).orElseThrow().xcpBps().orElseThrow();
        state.keep(key(choice.device(), choice.port()), choice.bps() + " of " + configured);
    }

    /** Those that still hold; others are forgotten. */
    List<CapacityChosen> take() {
        Map<String, String> kept = state.all();
        Map<String, CapacityChosen> fitting = fitting(kept);
        if (fitting.size() < kept.size()) {
            LOG.warn("{} capacities that were chosen are forgotten: their ports are not there, or configured otherwise",
                    kept.size() - fitting.size());
            Map<String, String> texts = new TreeMap<>(kept);
            texts.keySet().retainAll(fitting.keySet());
            try {
                state.keepOnly(texts);
            } catch (IOException e) {
                LOG.warn("they are forgotten at the next start: {}", e.getMessage());
            }
        }
        return List.copyOf(fitting.values());
    }

    private Map<String, CapacityChosen> fitting(Map<String, String> kept) {
        Map<String, CapacityChosen> fitting = new TreeMap<>();
        for (Router router : network.routers().values()) {
            for (RouterPort port : router.ports()) {
                String key = key(router.device(), port.number());
                OptionalLong bps = port.xcpBps().isPresent() ? chosen(kept.get(key), port.xcpBps().getAsLong()) : OptionalLong.empty();
                if (bps.isPresent()) {
                    fitting.put(key, new CapacityChosen(router.device(), port.number(), bps.getAsLong()));
                }
            }
        }
        return fitting;
    }

    private static OptionalLong chosen(String text, long configuredBps) {
        Matcher value = VALUE.matcher(text == null ? "" : text);
        return value.matches() && Long.parseLong(value.group(2)) == configuredBps && CapacityChosen.isPossible(Long.parseLong(value.group(1)))
                ? OptionalLong.of(Long.parseLong(value.group(1))) : OptionalLong.empty();
    }

    private static String key(DeviceId device, int port) {
        return PREFIX + device + "_" + port;
    }
}
