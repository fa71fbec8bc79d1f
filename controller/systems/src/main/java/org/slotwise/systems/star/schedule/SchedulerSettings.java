// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Locale;
import java.util.Map;

/** The settings of a scheduler, complete and checked. Immutable. */
public final class SchedulerSettings {
    static final String WEIGHTS = "weights";

    private final Map<String, String> texts;

    SchedulerSettings(Map<String, String> texts) {
        this.texts = texts;
    }

    /** All of them, as texts by name. */
    public Map<String, String> texts() {
        return texts;
    }

    /** The value of an {@link Setting.Type#INTEGER}. */
    public int integer(String name) {
        return Integer.parseInt(texts.get(name));
    }

    /** The value of a {@link Setting.Type#CHOICE}. */
    public String text(String name) {
        return texts.get(name);
    }

    /** The value of a choice among the constants of an enum, whose names are its values in lower case. */
    <E extends Enum<E>> E choice(String name, Class<E> type) {
        return Enum.valueOf(type, texts.get(name).toUpperCase(Locale.ROOT));
    }

    PairWeights weights() {
        try {
            return PairWeights.parse(texts.get(WEIGHTS));
        } catch (InvalidSettingsException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
