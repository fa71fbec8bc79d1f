// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Objects;
import org.slotwise.control.Command;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Version;

/** A schedule came into force at all edges of a star. */
public final class ScheduleInForce extends Command.Notice {
    private final CoreId core;
    private final Version version;
    private final int changedConnections;

    ScheduleInForce(CoreId core, Version version, int changedConnections) {
        super(StarApp.ID, "schedule_in_force",
                "core " + core + ": schedule " + version + " active, " + changedConnections + " connections changed");
        this.core = Objects.requireNonNull(core);
        this.version = Objects.requireNonNull(version);
        this.changedConnections = changedConnections;
    }

    /** The star's core. */
    public CoreId core() {
        return core;
    }

    /** Its version. */
    public Version version() {
        return version;
    }

    /** Senders, over all slots, that send to another edge than in the schedule before, or to none. */
    public int changedConnections() {
        return changedConnections;
    }
}
