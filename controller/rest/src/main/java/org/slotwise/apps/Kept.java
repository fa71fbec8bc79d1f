// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.AppState;

/** Choices that were kept over a restart. */
public final class Kept {
    private static final Logger LOG = LoggerFactory.getLogger(Kept.class);

    private Kept() {
    }

    /**
     * Those that still hold, in the order of their keys; {@code read} makes one of key and text, or empty if it does not hold any
     * more, and that is forgotten.
     */
    public static <T> List<T> holding(AppState state, BiFunction<String, String, Optional<T>> read) {
        Map<String, String> kept = state.all();
        Map<String, String> holding = new TreeMap<>();
        List<T> choices = new ArrayList<>();
        new TreeMap<>(kept).forEach((key, text) -> read.apply(key, text).ifPresent(choice -> {
            holding.put(key, text);
            choices.add(choice);
        }));
        if (holding.size() < kept.size()) {
            LOG.warn("discarded {} stored settings: target missing or reconfigured",
                    kept.size() - holding.size());
            try {
                state.keepOnly(holding);
            } catch (IOException e) {
                LOG.warn("could not discard stored settings, retrying at the next start: {}", e.getMessage());
            }
        }
        return choices;
    }
}
