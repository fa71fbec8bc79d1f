// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

import java.util.Objects;
import org.slotwise.control.Command;

/** A session has not been asked for again within its lease, and has left. */
public final class SessionExpired extends Command.Notice {
    private final String session;

    SessionExpired(String session) {
        super(LambdaApp.ID, "session_expired");
        this.session = Objects.requireNonNull(session);
    }

    /** Its name. */
    public String session() {
        return session;
    }

    @Override
    public String toString() {
        return "session '" + session + "': lease expired, session removed";
    }
}
