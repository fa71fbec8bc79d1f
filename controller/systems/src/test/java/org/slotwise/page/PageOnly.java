// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import java.util.function.Supplier;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.OneSystem;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemResources;

/** A system that has something to say on the page, and nothing else. */
public final class PageOnly {
    private PageOnly() {
    }

    /** Takes what it says each time. */
    public static SystemResources<?> of(Supplier<AppPage> says) {
        return OneSystem.of(new ResourceTable<>("page-only", "Is on the page alone.").page(view -> says.get()));
    }
}
