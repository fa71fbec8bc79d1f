// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.io.IOException;
import java.util.Map;

/** What an application keeps over restarts: texts by key, its own apart from those of others. */
public interface AppState {
    /** Keeps nothing, and says nothing of it: for hosts where what is chosen holds only as long as they run. */
    static AppState none() {
        return new AppState() {
            @Override
            public Map<String, String> all() {
                return Map.of();
            }

            @Override
            public void keep(String key, String value) {
            }

            @Override
            public void keepOnly(Map<String, String> texts) {
            }
        };
    }

    /** All that it keeps. */
    Map<String, String> all();

    /** Keeps a text under a key. Throws IOException if it cannot, as on a full disk; what was kept before holds then. */
    void keep(String key, String value) throws IOException;

    /** Keeps these, and nothing else any more. Throws as {@link #keep} does. */
    void keepOnly(Map<String, String> texts) throws IOException;
}
