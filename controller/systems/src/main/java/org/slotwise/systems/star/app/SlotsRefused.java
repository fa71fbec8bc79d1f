// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Objects;
import org.slotwise.control.Command;

/** Slots cannot be reserved; those that were before stay. */
public final class SlotsRefused extends Command.Notice {
    private final String reason;

    SlotsRefused(String reason) {
        super(StarApp.ID, "slots_refused");
        this.reason = Objects.requireNonNull(reason);
    }

    /** Why. */
    public String reason() {
        return reason;
    }

    @Override
    public boolean isFailure() {
        return true;
    }

    @Override
    public String toString() {
        return "slot reservation rejected: " + reason;
    }
}
