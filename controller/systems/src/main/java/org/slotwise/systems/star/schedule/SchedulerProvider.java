// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.List;

/**
 * A scheduler that users can choose. Found by {@link java.util.ServiceLoader}: a jar names its classes in
 * {@code META-INF/services/org.slotwise.systems.star.schedule.SchedulerProvider}, each with a public constructor without parameters. The
 * schedulers that come with the controller are found in the same way.
 */
public interface SchedulerProvider {
    /** Name that users write: lower-case letters, digits, hyphens. */
    String name();

    /** One sentence. */
    String description();

    /** What can be set, besides how demand is forecast, which can be set for every scheduler; nothing if not overridden. */
    default List<Setting> settings() {
        return List.of();
    }

    /** Makes the scheduler of edges with a port of the core each. */
    Scheduler create(SchedulerSettings settings);

    /** Whether schedules come from outside this process: then none is asked for before it is needed. */
    default boolean runsElsewhere() {
        return false;
    }
}
