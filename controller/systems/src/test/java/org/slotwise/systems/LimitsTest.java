// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ring.rest.RingCodec;
import org.slotwise.systems.routes.rest.RoutesCodec;
import org.slotwise.systems.star.rest.NetworkCodec;

/** The controller takes and refuses what the engine and the Python package do: their tests read the same file. */
class LimitsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path SCHEMAS = Path.of("../../schema");

    /** A bound and a place in a document. */
    private static final class Case {
        private final String document;
        private final JsonPointer place;
        private final long least;
        private final long most;

        Case(String document, String place, JsonNode limit) {
            this.document = document;
            this.place = JsonPointer.compile(place);
            this.least = limit.get("minimum").longValue();
            this.most = limit.get("maximum").longValue();
        }

        @Override
        public String toString() {
            return document + place;
        }
    }

    private static JsonNode read(String file) throws IOException {
        return JSON.readTree(SCHEMAS.resolve(file).toFile());
    }

    static List<Case> cases() throws IOException {
        List<Case> cases = new ArrayList<>();
        for (JsonNode limit : read("limits.json").get("limits")) {
            for (String document : List.of("network", "routes", "ring")) {
                limit.get("places").path(document).forEach(place -> cases.add(new Case(document, place.textValue(), limit)));
            }
        }
        return cases;
    }

    /** Why a document with a number at a place is refused; empty if it is not. */
    private static String refusal(Case border, long value) throws IOException {
        JsonNode document = document(border);
        JsonNode parent = document.at(border.place.head());
        JsonNode next = document.at(border.place).isArray() ? copies(document.at(border.place).get(0), value)
                : JSON.getNodeFactory().numberNode(value);
        JsonPointer last = border.place.last();
        if (parent instanceof ArrayNode) {
            ((ArrayNode) parent).set(last.getMatchingIndex(), next);
        } else {
            ((ObjectNode) parent).set(last.getMatchingProperty(), next);
        }
        try {
            switch (border.document) {
                case "network":
                    NetworkCodec.decode("", document);
                    break;
                case "routes":
                    RoutesCodec.decode("", document);
                    break;
                default:
                    RingCodec.decode("", document);
                    break;
            }
            return "";
        } catch (InvalidJsonException e) {
            return e.getMessage();
        }
    }

    /** So many that are equal, which is wrong, but is seen after their number. */
    private static JsonNode copies(JsonNode one, long count) {
        ArrayNode copies = JSON.getNodeFactory().arrayNode();
        for (long i = 0; i < count; i++) {
            copies.add(one.deepCopy());
        }
        return copies;
    }

    private static JsonNode document(Case border) throws IOException {
        switch (border.document) {
            case "network":
                return read("examples/network-star4.json");
            case "routes":
                return read("examples/network-mixed.json").at("/apps/routes");
            default:
                return read("examples/network-ring.json").at("/apps/ring");
        }
    }

    private static boolean isList(Case border) throws IOException {
        return document(border).at(border.place).isArray();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void boundsAreTakenAndWhatIsBeyondIsRefused(Case border) throws IOException {
        String place = border.place.toString().substring(1).replaceAll("/([0-9]+)", "[$1]").replace('/', '.');
        for (long value : new long[] {border.least - 1, border.least, border.most, border.most + 1}) {
            boolean beyond = value < border.least || value > border.most;
            String range = border.least + " .. " + border.most;
            String expected = isList(border) ? place + ": expected " + range + ", got " + value
                    : place + ": expected an integer " + range + ", got " + value;
            if (isList(border) && value < 0) {
                continue;
            }
            String refusal = refusal(border, value);
            assertEquals(beyond, refusal.equals(expected), value + ": " + refusal);
        }
    }
}
