// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;

/** Status of a switch of a {@link PathApp}, for its view. Immutable. */
public class SwitchStatus {
    private final boolean ready;
    private final boolean settled;
    private final Set<Integer> dark;

    SwitchStatus(boolean ready, boolean settled, Set<Integer> dark) {
        this.ready = ready;
        this.settled = settled;
        this.dark = Collections.unmodifiableSet(new TreeSet<>(dark));
    }

    /** Copies a status. */
    protected SwitchStatus(SwitchStatus of) {
        this(of.ready, of.settled, of.dark);
    }

    /** Returns true if the switch is connected. */
    public final boolean isReady() {
        return ready;
    }

    /** Returns true if the tables of the switch have all their entries. */
    public final boolean isSettled() {
        return settled;
    }

    /** Ports that are down and that paths would use. */
    public final Set<Integer> darkPorts() {
        return dark;
    }
}
