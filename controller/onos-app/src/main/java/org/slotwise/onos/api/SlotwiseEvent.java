// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.api;

import java.util.Objects;
import org.onosproject.event.AbstractEvent;

/** Something happened in the controller that this node runs; the subject is the name of the application that it is of. */
public final class SlotwiseEvent extends AbstractEvent<SlotwiseEvent.Type, String> {
    private final String detail;

    /** What happened. */
    public enum Type {
        /** This node runs the application now. */
        STARTED,
        /** This node does not run it any more. */
        ENDED,
        /** A schedule came into force at all edges of a star. */
        SCHEDULE_IN_FORCE,
        /** A scheduler gave no schedule, so that the last one stays. */
        SCHEDULER_FAILED,
        /** A link was lost or came back, and routes, or ways around a ring, are others now. */
        REROUTED,
        /** Something that later versions have a name for. */
        OTHER
    }

    /** Takes what happened, the application, and a sentence about it. */
    public SlotwiseEvent(Type type, String app, String detail) {
        super(type, app);
        this.detail = Objects.requireNonNull(detail);
    }

    /** A sentence, for people. */
    public String detail() {
        return detail;
    }
}
