// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.slotwise.control.Command;
import org.slotwise.onos.api.SlotwiseEvent;
import org.slotwise.ring.FairnessApp;
import org.slotwise.ring.WaysChanged;
import org.slotwise.routes.Rerouted;
import org.slotwise.routes.RoutesApp;
import org.slotwise.star.ScheduleInForce;
import org.slotwise.star.SchedulerFailed;
import org.slotwise.star.StarApp;

/** What applications tell, as events for others in ONOS. */
final class SlotwiseEvents {
    private SlotwiseEvents() {
    }

    static SlotwiseEvent of(Command.Notice notice) {
        if (notice instanceof ScheduleInForce) {
            return new SlotwiseEvent(SlotwiseEvent.Type.SCHEDULE_IN_FORCE, StarApp.ID, notice.toString());
        } else if (notice instanceof SchedulerFailed) {
            return new SlotwiseEvent(SlotwiseEvent.Type.SCHEDULER_FAILED, StarApp.ID, notice.toString());
        } else if (notice instanceof Rerouted) {
            return new SlotwiseEvent(SlotwiseEvent.Type.REROUTED, RoutesApp.ID, notice.toString());
        } else if (notice instanceof WaysChanged) {
            return new SlotwiseEvent(SlotwiseEvent.Type.REROUTED, FairnessApp.ID, notice.toString());
        }
        return new SlotwiseEvent(SlotwiseEvent.Type.OTHER, "", notice.toString());
    }
}
