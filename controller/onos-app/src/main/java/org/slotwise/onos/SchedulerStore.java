// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.onosproject.store.service.ConsistentMap;
import org.onosproject.store.service.MapEventListener;
import org.onosproject.store.service.StorageService;
import org.onosproject.store.service.Versioned;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.SchedulerCodec;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.schedule.InvalidSettingsException;

/**
 * The scheduler that was chosen at run time, in a map that all nodes share and that outlives them. A choice counts
 * while the network's configuration says what it said when the choice was made.
 */
final class SchedulerStore {
    private static final Logger LOG = LoggerFactory.getLogger(SchedulerStore.class);
    private static final String MAP = "slotwise-scheduler";
    private static final String CHOICE = "choice";
    /** Between the configured scheduler and the chosen one; JSON text has no such character. */
    private static final String SEPARATOR = "\n";

    private final ConsistentMap<String, String> values;

    SchedulerStore(StorageService storage) {
        this.values = storage.<String, String>consistentMapBuilder().withName(MAP)
                .withSerializer(new TextSerializer()).build();
    }

    /** Keeps a choice; one entry, so that no node sees half of it. Throws StorageException. */
    void keep(SchedulerChosen choice, SchedulerChosen configured) {
        values.put(CHOICE, text(configured) + SEPARATOR + text(choice));
    }

    /** The choice made at run time, unless there is none or the configuration has changed since. */
    Optional<SchedulerChosen> choice(SchedulerChosen configured) {
        String stored = Versioned.valueOrNull(values.get(CHOICE));
        if (stored == null || !stored.startsWith(text(configured) + SEPARATOR)) {
            return Optional.empty();
        }
        try {
            String choice = stored.substring(stored.indexOf(SEPARATOR) + 1);
            JsonNode value = JsonFields.parse(choice.getBytes(StandardCharsets.UTF_8));
            return Optional.of(SchedulerCodec.decode("", value, configured.kind().catalogue()));
        } catch (InvalidJsonException | InvalidSettingsException e) {
            LOG.warn("the stored scheduler is not used: {}", e.getMessage());
            return Optional.empty();
        }
    }

    void addListener(MapEventListener<String, String> listener) {
        values.addListener(listener);
    }

    void removeListener(MapEventListener<String, String> listener) {
        values.removeListener(listener);
    }

    private static String text(SchedulerChosen choice) {
        return SchedulerCodec.encode(choice.kind(), choice.settings()).toString();
    }
}
