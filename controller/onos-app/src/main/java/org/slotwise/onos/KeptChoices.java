// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.Map;
import java.util.TreeMap;
import org.onosproject.store.service.ConsistentMap;
import org.onosproject.store.service.StorageService;
import org.slotwise.control.AppState;
import org.slotwise.onos.flow.Stores;

/**
 * Settings made at run time, in a map that all nodes share and that outlives them: an entry a text, since an entry of ONOS's stores
 * is small and a choice changes one. States wait for the cluster and throw StorageException.
 */
final class KeptChoices {
    private static final String MAP = "slotwise-choices";
    /** Behind the application's name, which has no such character. */
    private static final String SEPARATOR = "\n";

    private final ConsistentMap<String, String> values;

    KeptChoices(StorageService storage) {
        this.values = storage.<String, String>consistentMapBuilder().withName(MAP)
                .withSerializer(new TextSerializer()).build();
    }

    /** What an application keeps. */
    AppState of(String app) {
        String prefix = app + SEPARATOR;
        return new AppState() {
            @Override
            public Map<String, String> all() {
                Map<String, String> own = new TreeMap<>();
                Stores.ask(values::entrySet).forEach(entry -> {
                    if (entry.getKey().startsWith(prefix)) {
                        own.put(entry.getKey().substring(prefix.length()), entry.getValue().value());
                    }
                });
                return own;
            }

            @Override
            public void keep(String key, String value) {
                Stores.ask(() -> values.put(prefix + key, value));
            }

            @Override
            public void keepOnly(Map<String, String> texts) {
                Map<String, String> before = all();
                texts.forEach((key, value) -> {
                    if (!value.equals(before.get(key))) {
                        keep(key, value);
                    }
                });
                before.keySet().stream().filter(key -> !texts.containsKey(key))
                        .forEach(key -> Stores.ask(() -> values.remove(prefix + key)));
            }
        };
    }
}
