// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** One setting of a scheduler: its name, what it does, its default, and the values that it can have. */
public final class Setting {
    /** What values look like. */
    public enum Type {
        /** One of {@link #values}. */
        CHOICE,
        /** A whole number {@link #minimum} .. {@link #maximum}. */
        INTEGER,
        /** A list of rules for edge pairs; the description says which. */
        RULES,
        /** Any text of at most {@link #MAX_TEXT} characters; the scheduler says what is right. */
        TEXT
    }

    /** Longest value of a {@link Type#TEXT}. */
    public static final int MAX_TEXT = 1024;
    private static final int MAX_INTEGER = 999_999_999;

    private final String name;
    private final String description;
    private final Type type;
    private final String defaultValue;
    private final List<String> values;
    private final int minimum;
    private final int maximum;

    private Setting(String name, String description, Type type, String defaultValue, List<String> values, int minimum,
            int maximum) {
        this.name = name;
        this.description = description;
        this.type = type;
        this.defaultValue = defaultValue;
        this.values = values;
        this.minimum = minimum;
        this.maximum = maximum;
    }

    /** A setting with the names of {@code constants} as values, the first of them the default. */
    static Setting choice(String name, String description, Enum<?>[] constants) {
        return choice(name, description, Arrays.stream(constants)
                .map(constant -> constant.name().toLowerCase(Locale.ROOT)).collect(Collectors.toList()));
    }

    /** A setting that has one of these values, at least one; the first is the default. */
    public static Setting choice(String name, String description, List<String> values) {
        return new Setting(name, description, Type.CHOICE, values.get(0), List.copyOf(values), 0, 0);
    }

    /** A setting that is a whole number, of at most nine digits and not negative. */
    public static Setting integer(String name, String description, int minimum, int maximum, int defaultValue) {
        if (minimum < 0 || maximum > MAX_INTEGER || defaultValue < minimum || defaultValue > maximum) {
            throw new IllegalArgumentException("setting '" + name + "': expected 0 <= minimum <= default <= maximum <= "
                    + MAX_INTEGER);
        }
        return new Setting(name, description, Type.INTEGER, Integer.toString(defaultValue), List.of(), minimum, maximum);
    }

    static Setting rules(String name, String description) {
        return new Setting(name, description, Type.RULES, "", List.of(), 0, 0);
    }

    /** A setting that is a text. */
    public static Setting text(String name, String description, String defaultValue) {
        return new Setting(name, description, Type.TEXT, defaultValue, List.of(), 0, 0);
    }

    /** Throws {@link InvalidSettingsException} with what would be right, to follow the setting's name. */
    void check(String value) throws InvalidSettingsException {
        if (type == Type.CHOICE && !values.contains(value)) {
            throw new InvalidSettingsException("expected one of " + String.join(", ", values) + ", got '" + value + "'");
        } else if (type == Type.INTEGER && !isInRange(value)) {
            throw new InvalidSettingsException(
                    "expected an integer " + minimum + " .. " + maximum + ", got '" + value + "'");
        } else if (type == Type.RULES) {
            PairWeights.parse(value);
        } else if (type == Type.TEXT && value.length() > MAX_TEXT) {
            throw new InvalidSettingsException("expected at most " + MAX_TEXT + " characters, got " + value.length());
        }
    }

    private boolean isInRange(String value) {
        // No sign, no leading zero: one number has one text.
        return value.matches("0|[1-9][0-9]{0,8}")
                && Integer.parseInt(value) >= minimum && Integer.parseInt(value) <= maximum;
    }

    /** Name. */
    public String name() {
        return name;
    }

    /** What it does. */
    public String description() {
        return description;
    }

    /** What its values look like. */
    public Type type() {
        return type;
    }

    /** Value that it has unless another is given. */
    public String defaultValue() {
        return defaultValue;
    }

    /** Values of a {@link Type#CHOICE}, the default first; empty for others. */
    public List<String> values() {
        return values;
    }

    /** Lowest value of an {@link Type#INTEGER}. */
    public int minimum() {
        return minimum;
    }

    /** Highest value of an {@link Type#INTEGER}. */
    public int maximum() {
        return maximum;
    }
}
