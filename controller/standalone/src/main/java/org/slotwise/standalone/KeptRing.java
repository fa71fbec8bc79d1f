// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppState;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.RingCodec;
import org.slotwise.ring.RingChoice;
import org.slotwise.ring.RingNetwork;
import org.slotwise.ring.Station;

/**
 * What somebody has chosen for a packet ring, over restarts: each with what the configuration said then, so that what is configured
 * otherwise now holds as it is configured.
 */
final class KeptRing {
    private static final Logger LOG = LoggerFactory.getLogger(KeptRing.class);
    private static final String CHOSEN = "chosen";
    private static final String CONFIGURED = "configured";

    private final AppState state;
    private final RingNetwork network;

    /** Reads a choice as REST does. */
    private interface Reader {
        RingChoice read(RingNetwork network, JsonNode value) throws InvalidJsonException;
    }

    /** Something that can be chosen: what the configuration says of it, and how a choice is read. */
    private record Choosable(RingChoice configured, Reader reader) {
    }

    KeptRing(AppState state, RingNetwork network) {
        this.state = state;
        this.network = network;
    }

    /** By key, all that can be chosen. */
    private Map<String, Choosable> choosable() {
        Map<String, Choosable> all = new TreeMap<>();
        add(all, new RingChoice.Mode(network.mode()), (ring, value) -> RingCodec.modeChoice(value));
        for (Station station : network.stations()) {
            add(all, new RingChoice.Weight(station.device(), station.weight()), RingCodec::weightChoice);
            add(all, new RingChoice.Classes(station, station.rules()), RingCodec::classesChoice);
        }
        return all;
    }

    private static void add(Map<String, Choosable> all, RingChoice configured, Reader reader) {
        all.put(key(configured), new Choosable(configured, reader));
    }

    private static String key(RingChoice choice) {
        if (choice instanceof RingChoice.Weight weight) {
            return "weight_" + weight.device();
        }
        return choice instanceof RingChoice.Classes classes ? "classes_" + classes.device() : "mode";
    }

    /** Keeps a choice for the ring. Throws IOException if it cannot. */
    void keep(RingChoice choice) throws IOException {
        ObjectNode text = JsonNodeFactory.instance.objectNode();
        text.set(CHOSEN, RingCodec.encode(choice));
        text.set(CONFIGURED, RingCodec.encode(choosable().get(key(choice)).configured()));
        state.keep(key(choice), text.toString());
    }

    /** Those that still hold; others are forgotten. */
    List<RingChoice> take() {
        Map<String, String> kept = state.all();
        Map<String, String> holding = new TreeMap<>();
        List<RingChoice> choices = new ArrayList<>();
        Map<String, Choosable> choosable = choosable();
        kept.forEach((key, text) -> Optional.ofNullable(choosable.get(key)).flatMap(one -> chosen(one, text)).ifPresent(choice -> {
            holding.put(key, text);
            choices.add(choice);
        }));
        if (holding.size() < kept.size()) {
            LOG.warn("{} choices for the ring are forgotten: what they are about is not there, or configured otherwise",
                    kept.size() - holding.size());
            try {
                state.keepOnly(holding);
            } catch (IOException e) {
                LOG.warn("they are forgotten at the next start: {}", e.getMessage());
            }
        }
        return choices;
    }

    private Optional<RingChoice> chosen(Choosable one, String text) {
        try {
            JsonFields fields = JsonFields.of("", JsonFields.parse(text.getBytes(StandardCharsets.UTF_8)), CHOSEN, CONFIGURED);
            // As text: numbers that are read have other types than those that are written.
            return fields.required(CONFIGURED).toString().equals(RingCodec.encode(one.configured()).toString())
                    ? Optional.of(one.reader().read(network, fields.required(CHOSEN))) : Optional.empty();
        } catch (InvalidJsonException e) {
            LOG.warn("a choice that was kept cannot be read: {}", e.getMessage());
            return Optional.empty();
        }
    }
}
