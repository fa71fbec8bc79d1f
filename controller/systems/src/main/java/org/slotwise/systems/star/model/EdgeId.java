// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import org.slotwise.control.topology.Id;
import org.slotwise.wire.WireConstants;

/** Number of an edge; it is also the number of its VOQ at every other edge. */
public final class EdgeId extends Id<EdgeId> {
    /** Largest number. */
    public static final int MAX = WireConstants.MAX_FIBRES - 1;

    private EdgeId(int value) {
        super("edge id", value, 0, MAX);
    }

    /** Returns the identifier; throws IllegalArgumentException outside 0 .. {@link #MAX}. */
    public static EdgeId of(int value) {
        return new EdgeId(value);
    }

    /** The number. */
    public int value() {
        return (int) number();
    }
}
