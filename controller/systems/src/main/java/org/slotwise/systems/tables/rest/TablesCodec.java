// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.tables.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Pattern;
import org.slotwise.control.tables.Match;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.system.Ports;
import org.slotwise.systems.tables.model.FixedEntries;

/** Entries in the form of {@code schema/network.schema.json}. Names and widths depend on the program and are not checked here. */
final class TablesCodec {
    private static final String ENTRIES = "entries";
    private static final String VALUE = "value";
    private static final String PREFIX_BITS = "prefix_bits";
    private static final String MASK = "mask";
    private static final String LOW = "low";
    private static final String HIGH = "high";
    private static final Pattern NUMBER = Pattern.compile("0x[0-9a-f]{1,16}");
    private static final int HEXADECIMAL = 16;

    private TablesCodec() {
    }

    /** Reads entries; {@code where} is their place in a larger document, or empty. */
    static FixedEntries decode(String where, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.of(where, value, ENTRIES);
        FixedEntries.Builder entries = new FixedEntries.Builder();
        List<JsonNode> all = fields.array(ENTRIES);
        for (int i = 0; i < all.size(); i++) {
            JsonFields entry = JsonFields.of(fields.place(ENTRIES + "[" + i + "]"), all.get(i),
                    "device_id", "table", "match", "action", "params", "priority");
            DeviceId device = Ports.DEVICE.read(entry);
            try {
                entries.add(device, entry(entry));
            } catch (IllegalArgumentException e) {
                throw new InvalidJsonException(entry.place("match"), e.getMessage());
            }
        }
        return entries.build();
    }

    private static TableEntry entry(JsonFields fields) throws InvalidJsonException {
        TableEntry.Builder entry = TableEntry.in(fields.name("table")).action(fields.name("action"))
                .priority((int) fields.optionalInteger("priority", 1, Integer.MAX_VALUE).orElse(0));
        for (Match match : fields.list("match", TablesCodec::match)) {
            entry.match(match);
        }
        JsonNode params = fields.required("params");
        JsonFields values = JsonFields.open(fields.place("params"), params);
        for (Iterator<String> names = params.fieldNames(); names.hasNext();) {
            String name = names.next();
            entry.param(name, values.parsed(name, TablesCodec::number));
        }
        return entry.build();
    }

    private static Match match(String place, JsonNode value) throws InvalidJsonException {
        JsonFields fields = JsonFields.open(place, value);
        String field = fields.name("field");
        if (fields.optional(LOW).isPresent()) {
            JsonFields.of(place, value, "field", LOW, HIGH);
            return Match.range(field, fields.parsed(LOW, TablesCodec::number), fields.parsed(HIGH, TablesCodec::number));
        }
        long number = fields.parsed(VALUE, TablesCodec::number);
        if (fields.optional(MASK).isPresent()) {
            JsonFields.of(place, value, "field", VALUE, MASK);
            return Match.ternary(field, number, fields.parsed(MASK, TablesCodec::number));
        }
        JsonFields.of(place, value, "field", VALUE, PREFIX_BITS);
        return fields.optional(PREFIX_BITS).isPresent() ? Match.lpm(field, number, (int) fields.integer(PREFIX_BITS, 1, Long.SIZE))
                : Match.exact(field, number);
    }

    private static long number(String text) {
        if (!NUMBER.matcher(text).matches()) {
            throw new IllegalArgumentException("expected 0x and 1 .. 16 hexadecimal digits in lower case, got '" + text + "'");
        }
        return Long.parseUnsignedLong(text.substring(2), HEXADECIMAL);
    }
}
