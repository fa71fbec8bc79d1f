// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Map;
import java.util.Objects;
import org.slotwise.control.Event;
import org.slotwise.systems.star.schedule.SchedulerKind;

/** Someone chose a scheduler; takes effect with the next round. */
public final class SchedulerChosen extends Event.Order {
    private final SchedulerKind kind;
    private final Map<String, String> settings;

    /** Takes the scheduler and settings that {@link SchedulerKind#completeSettings} gave. */
    public SchedulerChosen(SchedulerKind kind, Map<String, String> settings) {
        this.kind = Objects.requireNonNull(kind);
        this.settings = Map.copyOf(settings);
    }

    /** The scheduler. */
    public SchedulerKind kind() {
        return kind;
    }

    /** Its settings, all of them. */
    public Map<String, String> settings() {
        return settings;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof SchedulerChosen && ((SchedulerChosen) o).kind == kind && ((SchedulerChosen) o).settings.equals(settings);
    }

    @Override
    public int hashCode() {
        return Objects.hash(kind, settings);
    }
}
