// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import org.slotwise.wire.WireConstants;

/** Number of a core; an edge reaches it on port PORT_OPTICAL_BASE + number. */
public final class CoreId implements Comparable<CoreId> {
    /** Largest number that an identifier may have. */
    public static final int MAX = WireConstants.MAX_FIBRES - 1;

    private final int value;

    private CoreId(int value) {
        this.value = value;
    }

    /** Returns the identifier; throws IllegalArgumentException outside 0 .. {@link #MAX}. */
    public static CoreId of(int value) {
        if (value < 0 || value > MAX) {
            throw new IllegalArgumentException("core id: expected 0 .. " + MAX + ", got " + value);
        }
        return new CoreId(value);
    }

    /** The number. */
    public int value() {
        return value;
    }

    @Override
    public int compareTo(CoreId other) {
        return Integer.compare(value, other.value);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof CoreId && ((CoreId) o).value == value;
    }

    @Override
    public int hashCode() {
        return Integer.hashCode(value);
    }

    @Override
    public String toString() {
        return Integer.toString(value);
    }
}
