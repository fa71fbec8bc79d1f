// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import org.slotwise.control.topology.Id;
import org.slotwise.wire.WireConstants;

/** Number of a core; an edge reaches it on port PORT_OPTICAL_BASE + number. */
public final class CoreId extends Id<CoreId> {
    /** Largest number. */
    public static final int MAX = WireConstants.MAX_FIBRES - 1;

    private CoreId(int value) {
        super("core id", value, 0, MAX);
    }

    /** Returns the identifier; throws IllegalArgumentException outside 0 .. {@link #MAX}. */
    public static CoreId of(int value) {
        return new CoreId(value);
    }

    /** The number. */
    public int value() {
        return (int) number();
    }
}
