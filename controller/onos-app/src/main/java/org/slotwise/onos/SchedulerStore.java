// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.HashMap;
import java.util.Map;
import org.onosproject.store.service.ConsistentMap;
import org.onosproject.store.service.MapEventListener;
import org.onosproject.store.service.StorageService;
import org.onosproject.store.service.Versioned;
import org.slotwise.control.AppState;
import org.slotwise.systems.star.rest.KeptStar;

/**
 * The scheduler that was chosen at run time, in a map that all nodes share and that outlives them. A choice counts
 * while the network's configuration says what it said when the choice was made.
 */
final class SchedulerStore implements AppState {
    private static final String MAP = "slotwise-scheduler";
    private static final String CHOICE = "choice";
    /** Between the configured scheduler and the chosen one; JSON text has no such character. */
    private static final String SEPARATOR = "\n";

    private final ConsistentMap<String, String> values;

    SchedulerStore(StorageService storage) {
        this.values = storage.<String, String>consistentMapBuilder().withName(MAP)
                .withSerializer(new TextSerializer()).build();
    }

    @Override
    public Map<String, String> all() {
        String stored = Versioned.valueOrNull(values.get(CHOICE));
        int separator = stored == null ? -1 : stored.indexOf(SEPARATOR);
        return separator < 0 ? Map.of()
                : Map.of(KeptStar.CONFIGURED_SCHEDULER, stored.substring(0, separator), KeptStar.SCHEDULER, stored.substring(separator + 1));
    }

    @Override
    public void keep(String key, String value) {
        Map<String, String> changed = new HashMap<>(all());
        changed.put(key, value);
        keepOnly(changed);
    }

    /** Both texts of a choice, in one entry, so that no node sees half of it. Throws StorageException. */
    @Override
    public void keepOnly(Map<String, String> texts) {
        values.put(CHOICE, texts.get(KeptStar.CONFIGURED_SCHEDULER) + SEPARATOR + texts.get(KeptStar.SCHEDULER));
    }

    void addListener(MapEventListener<String, String> listener) {
        values.addListener(listener);
    }

    void removeListener(MapEventListener<String, String> listener) {
        values.removeListener(listener);
    }
}
