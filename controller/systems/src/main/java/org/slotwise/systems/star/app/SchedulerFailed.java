// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Objects;
import org.slotwise.control.Command;

/** A scheduler gave no schedule, so the last one stays. Told of a scheduler's first failure, its second, its fourth, and so on. */
public final class SchedulerFailed extends Command.Notice {
    private final String scheduler;
    private final String reason;
    private final long failures;

    SchedulerFailed(String scheduler, String reason, long failures) {
        super(StarApp.ID, "scheduler_failed");
        this.scheduler = Objects.requireNonNull(scheduler);
        this.reason = Objects.requireNonNull(reason);
        this.failures = failures;
    }

    /** Name of the scheduler. */
    public String scheduler() {
        return scheduler;
    }

    /** Why. */
    public String reason() {
        return reason;
    }

    /** Failures of this scheduler since the controller began. */
    public long failures() {
        return failures;
    }

    @Override
    public boolean isFailure() {
        return true;
    }

    @Override
    public String toString() {
        return "scheduler '" + scheduler + "' failed, previous schedule stays active (failure " + failures + "): " + reason;
    }
}
