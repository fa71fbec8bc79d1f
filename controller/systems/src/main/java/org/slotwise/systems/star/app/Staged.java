// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import org.slotwise.systems.star.schedule.FrameSchedule;

/** Next schedule of a star, from its first write until all edges use it. */
final class Staged {
    final FrameSchedule schedule;
    /** {@link Attendance#changes} when it was made. */
    final long changes;
    /** Time of the first write. */
    final long sinceNs;
    /** Frame of the requests that it is for. */
    final long frame;
    /** Frame of the last commit. */
    long commitFrame;

    Staged(FrameSchedule schedule, long changes, long sinceNs, long frame) {
        this.schedule = schedule;
        this.changes = changes;
        this.sinceNs = sinceNs;
        this.frame = frame;
    }
}
