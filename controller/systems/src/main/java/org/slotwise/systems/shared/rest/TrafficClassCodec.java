// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.shared.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import java.util.OptionalInt;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.shared.model.TrafficClass;

/** Reads what all networks say of a class alike: its number and its match. */
public final class TrafficClassCodec {
    private static final String MATCH = "match";
    private static final String DSCP = "dscp";
    private static final String ACKNOWLEDGEMENTS = "acknowledgements";

    private TrafficClassCodec() {
    }

    /** Reads {@code class} and {@code match} of a class that has this wavelength and weight. */
    public static TrafficClass read(String place, JsonFields fields, int wavelength, double weight) throws InvalidJsonException {
        OptionalInt dscp = OptionalInt.empty();
        boolean acknowledgements = false;
        Optional<JsonNode> match = fields.optional(MATCH);
        if (match.isPresent()) {
            JsonFields one = JsonFields.of(fields.place(MATCH), match.get(), DSCP, ACKNOWLEDGEMENTS);
            dscp = one.optional(DSCP).isEmpty() ? dscp : OptionalInt.of((int) one.integer(DSCP, 0, TrafficClass.MAX_DSCP));
            acknowledgements = one.optional(ACKNOWLEDGEMENTS).isPresent() && one.flag(ACKNOWLEDGEMENTS);
        }
        try {
            return new TrafficClass((int) fields.integer("class", 0, TrafficClass.MAX_CLASS), dscp, acknowledgements, wavelength, weight);
        } catch (InvalidNetworkException e) {
            throw InvalidJsonException.within(place, e);
        }
    }
}
