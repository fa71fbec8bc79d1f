// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.json;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Reads one JSON object strictly: every field is known, present or optional, and in its range. */
public final class JsonFields {
    private static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
            .disable(JsonParser.Feature.ALLOW_COMMENTS)
            .build();
    private static final Pattern NAME = Pattern.compile("[!-~]{1,128}");
    /** Parts of a parser's message that name the source, which the place already names, or settings of a Java program. */
    private static final Pattern NOT_FOR_CALLERS = Pattern.compile("\\s*\\((?:[^()]*? )?\\[Source: [^\\]]*\\]\\)|\\s*\\[Source: [^\\]]*\\]"
            + "|, from `[^`]*`|: enable `[^`]*` to allow| \\(not recognized as one since [^)]*\\)");
    private static final String BYTE_ORDER_MARK = "\uFEFF";
    /** More edits than this make another word, not a slip. */
    private static final int LARGEST_SLIP = 3;

    private final String where;
    private final JsonNode object;

    private JsonFields(String where, JsonNode object) {
        this.where = where;
        this.object = object;
    }

    /**
     * Parses one JSON value in UTF-8, also after a byte order mark; throws {@link InvalidJsonException} with line and column if it is none.
     * The parser itself would guess other encodings from the bytes (RFC 8259, 8.1 allows none).
     */
    public static JsonNode parse(byte[] text) throws InvalidJsonException {
        String decoded = utf8(text);
        try (JsonParser parser = MAPPER.createParser(decoded)) {
            JsonNode node = MAPPER.readTree(parser);
            if (node == null || node.isMissingNode()) {
                throw new InvalidJsonException("", "expected a JSON object, got nothing");
            }
            if (parser.nextToken() != null) {
                throw new JsonParseException(parser, "text after the value; expected one value");
            }
            return node;
        } catch (JsonProcessingException e) {
            String place = e.getLocation() == null ? "" : "line " + e.getLocation().getLineNr()
                    + ", column " + e.getLocation().getColumnNr();
            throw new InvalidJsonException(place, "not JSON: " + reason(e));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String utf8(byte[] text) throws InvalidJsonException {
        try {
            String decoded = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
            return decoded.startsWith(BYTE_ORDER_MARK) ? decoded.substring(BYTE_ORDER_MARK.length()) : decoded;
        } catch (CharacterCodingException e) {
            throw new InvalidJsonException("", "not JSON: invalid bytes; expected UTF-8");
        }
    }

    /** Returns the message of a parser in words of JSON, without Java's. */
    public static String reason(JsonProcessingException refused) {
        return NOT_FOR_CALLERS.matcher(refused.getOriginalMessage()).replaceAll("").strip();
    }

    /** Takes a value that must be an object with no other fields than {@code known}. */
    public static JsonFields of(String where, JsonNode value, String... known) throws InvalidJsonException {
        JsonFields fields = open(where, value);
        List<String> names = Arrays.asList(known);
        for (Iterator<String> present = value.fieldNames(); present.hasNext();) {
            String name = present.next();
            if (!names.contains(name)) {
                throw new InvalidJsonException(fields.place(name), "unknown field; " + nearest(name, names)
                        .map(other -> "did you mean '" + other + "'?").orElse("expected one of " + String.join(", ", names)));
            }
        }
        return fields;
    }

    /** Takes a value that must be an object, with any fields. */
    public static JsonFields open(String where, JsonNode value) throws InvalidJsonException {
        if (!value.isObject()) {
            throw new InvalidJsonException(where, "expected an object, got " + kindOf(value));
        }
        return new JsonFields(where, value);
    }

    /** A field that must be there. */
    public JsonNode required(String name) throws InvalidJsonException {
        JsonNode value = object.get(name);
        if (value == null || value.isNull()) {
            throw new InvalidJsonException(place(name), "missing");
        }
        return value;
    }

    /** A field that may be missing; null is a value, and no field has it. */
    public Optional<JsonNode> optional(String name) {
        return Optional.ofNullable(object.get(name));
    }

    /** A text that must be there. */
    public String text(String name) throws InvalidJsonException {
        return text(place(name), required(name));
    }

    /** A name that must be there: it goes to logs, views and other systems, which break at other characters. */
    public String name(String name) throws InvalidJsonException {
        String text = text(name);
        if (!NAME.matcher(text).matches()) {
            throw new InvalidJsonException(place(name), "invalid name; expected 1 .. 128 visible ASCII characters");
        }
        return text;
    }

    /** A value that must be text. */
    public static String text(String where, JsonNode value) throws InvalidJsonException {
        if (!value.isTextual()) {
            throw new InvalidJsonException(where, "expected a string, got " + kindOf(value));
        }
        return value.textValue();
    }

    /** A text that must be there and have the form that {@code parse} reads, which throws IllegalArgumentException for others. */
    public <T> T parsed(String name, Function<String, T> parse) throws InvalidJsonException {
        String text = text(name);
        try {
            return parse.apply(text);
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException(place(name), e.getMessage());
        }
    }

    /** A text that must be there and name one of these values. */
    public <E extends Enum<E>> E choice(String name, E[] values) throws InvalidJsonException {
        String text = text(name);
        List<String> names = new ArrayList<>();
        for (E value : values) {
            if (spelled(value).equals(text)) {
                return value;
            }
            names.add(spelled(value));
        }
        throw new InvalidJsonException(place(name), "expected one of " + String.join(", ", names) + ", got '" + text + "'");
    }

    /** A value's name as documents have it: lower case, with hyphens. */
    public static String spelled(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** An integer {@code low .. high} that must be there. */
    public long integer(String name, long low, long high) throws InvalidJsonException {
        JsonNode value = required(name);
        if (!value.isIntegralNumber() || !value.canConvertToLong()
                || value.longValue() < low || value.longValue() > high) {
            throw new InvalidJsonException(place(name), "expected an integer " + low + " .. " + high + ", got " + got(value));
        }
        return value.longValue();
    }

    /** Returns an optional integer in {@code low .. high}. */
    public OptionalLong optionalInteger(String name, long low, long high) throws InvalidJsonException {
        return optional(name).isPresent() ? OptionalLong.of(integer(name, low, high)) : OptionalLong.empty();
    }

    /** A number from 0 to 1 that must be there. */
    public double part(String name) throws InvalidJsonException {
        return number(name, 0, 1);
    }

    /** A number above 0 and at most 1 that must be there. */
    public double partAboveZero(String name) throws InvalidJsonException {
        JsonNode value = required(name);
        if (!value.isNumber() || !(value.doubleValue() > 0 && value.doubleValue() <= 1)) {
            throw new InvalidJsonException(place(name), "expected a number above 0 and at most 1, got " + got(value));
        }
        return value.doubleValue();
    }

    /** A number {@code low .. high} that must be there. */
    public double number(String name, double low, double high) throws InvalidJsonException {
        JsonNode value = required(name);
        if (!value.isNumber() || !(value.doubleValue() >= low && value.doubleValue() <= high)) {
            throw new InvalidJsonException(place(name), "expected a number " + plain(low) + " .. " + plain(high) + ", got " + got(value));
        }
        return value.doubleValue();
    }

    private static String plain(double value) {
        return BigDecimal.valueOf(value).stripTrailingZeros().toPlainString();
    }

    /** True or false that must be there. */
    public boolean flag(String name) throws InvalidJsonException {
        JsonNode value = required(name);
        if (!value.isBoolean()) {
            throw new InvalidJsonException(place(name), "expected true or false, got " + got(value));
        }
        return value.booleanValue();
    }

    /** The elements of an array that must be there. */
    public List<JsonNode> array(String name) throws InvalidJsonException {
        JsonNode value = required(name);
        if (!value.isArray()) {
            throw new InvalidJsonException(place(name), "expected an array, got " + kindOf(value));
        }
        List<JsonNode> elements = new ArrayList<>();
        value.forEach(elements::add);
        return elements;
    }

    /**
     * Reader of an element.
     *
     * @param <T> result
     */
    public interface ElementReader<T> {
        /** Reads the element at a place. */
        T read(String place, JsonNode element) throws InvalidJsonException;
    }

    /** Reads each element of a required array. */
    public <T> List<T> list(String name, ElementReader<T> reader) throws InvalidJsonException {
        List<T> list = new ArrayList<>();
        for (JsonNode element : array(name)) {
            list.add(reader.read(place(name + "[" + list.size() + "]"), element));
        }
        return list;
    }

    /** Where a field is. */
    public String place(String name) {
        return where.isEmpty() ? name : where + "." + name;
    }

    private static String got(JsonNode value) {
        return value.isNumber() ? value.toString() : kindOf(value);
    }

    private static String kindOf(JsonNode value) {
        return "a value of type " + value.getNodeType().name().toLowerCase(Locale.ROOT);
    }

    /** What may have been meant: the nearest, and of what is as near what begins alike. */
    private static Optional<String> nearest(String name, List<String> known) {
        Comparator<String> nearer = Comparator.comparingInt(other -> distance(name, other));
        Comparator<String> beginning = Comparator.comparing(other -> !name.regionMatches(0, other, 0, 1));
        return known.stream().min(nearer.thenComparing(beginning)).filter(other -> distance(name, other) <= LARGEST_SLIP);
    }

    /** Edit distance. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int substitute = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substitute, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
