// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

import org.slotwise.control.Event;

/** A session is over; of one that is not there, nothing changes. */
public final class SessionLeft extends Event.Order {
    private final String session;

    /** Takes its name; throws IllegalArgumentException if that can be none of a session. */
    public SessionLeft(String session) {
        this.session = Demand.checkName(session);
    }

    /** Its name. */
    public String session() {
        return session;
    }
}
