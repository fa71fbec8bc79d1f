// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Objects;
import org.slotwise.control.Event;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Network;

/** Someone shuts a core's master down, or takes it back; {@link Network#canShutDown} says where that is possible. */
public final class MasterShutdown extends Event.Order {
    private final CoreId core;
    private final boolean down;

    /** Takes the core, and whether its master is to be down. */
    public MasterShutdown(CoreId core, boolean down) {
        this.core = Objects.requireNonNull(core);
        this.down = down;
    }

    /** The core. */
    public CoreId core() {
        return core;
    }

    /** Whether its master is to be down. */
    public boolean isDown() {
        return down;
    }
}
