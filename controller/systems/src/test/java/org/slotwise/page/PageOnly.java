// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.slotwise.apps.AppPage;
import org.slotwise.apps.AppResources;

/** An application that has something to say on the page, and nothing else. */
public final class PageOnly implements AppResources {
    private final Supplier<AppPage> says;

    /** Takes what it says each time. */
    public PageOnly(Supplier<AppPage> says) {
        this.says = says;
    }

    @Override
    public String id() {
        return "page-only";
    }

    @Override
    public String description() {
        return "Is on the page alone.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return Map.of();
    }

    @Override
    public Map<String, Change> changes() {
        return Map.of();
    }

    @Override
    public Optional<AppPage> page() {
        return Optional.of(says.get());
    }
}
