// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.apps.Choice;
import org.slotwise.apps.Kept;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.ring.app.RingChoice;
import org.slotwise.systems.ring.app.RingView;
import org.slotwise.systems.ring.model.RingNetwork;
import org.slotwise.systems.ring.model.Station;

/**
 * What somebody chooses for a packet ring, and how it is kept: with what the configuration said then, so that what is configured
 * otherwise now holds as it is configured.
 */
final class KeptRingChoice implements Choice<RingView> {
    private static final Logger LOG = LoggerFactory.getLogger(KeptRingChoice.class);
    private static final String CHOSEN = "chosen";
    private static final String CONFIGURED = "configured";

    private final RingNetwork network;
    private final RingChoice chosen;

    /** Reads a choice as REST does. */
    interface Reader {
        RingChoice read(RingNetwork network, JsonNode value) throws InvalidJsonException;
    }

    /** Something that can be chosen: what the configuration says of it, and how a choice is read. */
    private static final class Choosable {
        private final RingChoice configured;
        private final Reader reader;

        Choosable(RingChoice configured, Reader reader) {
            this.configured = configured;
            this.reader = reader;
        }
    }

    /** Takes a choice for this ring. */
    KeptRingChoice(RingNetwork network, RingChoice chosen) {
        this.network = network;
        this.chosen = chosen;
    }

    @Override
    public String what() {
        return "ring";
    }

    @Override
    public String title() {
        return "the ring setting";
    }

    @Override
    public Event.Order order() {
        return chosen;
    }

    @Override
    public ObjectNode told() {
        return RingCodec.encode(chosen);
    }

    @Override
    public ObjectNode audited(RingView before) {
        ObjectNode entry = JsonNodeFactory.instance.objectNode();
        entry.set("before", RingCodec.current(before, chosen));
        entry.set("after", told());
        return entry;
    }

    @Override
    public void keep(AppState state) throws IOException {
        ObjectNode text = JsonNodeFactory.instance.objectNode();
        text.set(CHOSEN, told());
        text.set(CONFIGURED, RingCodec.encode(choosable(network).get(key(chosen)).configured));
        state.keep(key(chosen), text.toString());
    }

    /** By key, all that can be chosen. */
    private static Map<String, Choosable> choosable(RingNetwork network) {
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
        if (choice instanceof RingChoice.Weight) {
            return "weight_" + ((RingChoice.Weight) choice).device();
        }
        return choice instanceof RingChoice.Classes ? "classes_" + ((RingChoice.Classes) choice).device() : "mode";
    }

    /** Those that still hold in a ring. */
    static List<Event.Order> holding(AppState state, RingNetwork network) {
        Map<String, Choosable> choosable = choosable(network);
        return Kept.holding(state, (key, text) -> Optional.ofNullable(choosable.get(key)).flatMap(one -> chosen(network, one, text)));
    }

    private static Optional<Event.Order> chosen(RingNetwork network, Choosable one, String text) {
        try {
            JsonFields fields = JsonFields.of("", JsonFields.parse(text.getBytes(StandardCharsets.UTF_8)), CHOSEN, CONFIGURED);
            // As text: numbers that are read have other types than those that are written.
            return fields.required(CONFIGURED).toString().equals(RingCodec.encode(one.configured).toString())
                    ? Optional.of(one.reader.read(network, fields.required(CHOSEN))) : Optional.empty();
        } catch (InvalidJsonException e) {
            LOG.warn("ignored an unreadable stored setting: {}", e.getMessage());
            return Optional.empty();
        }
    }
}
