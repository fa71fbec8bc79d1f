// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import org.slotwise.systems.star.model.Version;
import org.slotwise.systems.star.schedule.FrameSchedule;

/** Active schedule of a star. Immutable. */
final class Active {
    /** Null until the controller has learned it. */
    final Version version;
    final FrameSchedule schedule;
    /** {@link Attendance#changes} when it was made. */
    final long changes;

    Active(Version version, FrameSchedule schedule, long changes) {
        this.version = version;
        this.schedule = schedule;
        this.changes = changes;
    }
}
