// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import org.slotwise.wire.WireConstants;

/** Number of an edge; it is also the number of its VOQ at every other edge. */
public final class EdgeId implements Comparable<EdgeId> {
    /** Largest number that an identifier may have. */
    public static final int MAX = WireConstants.MAX_FIBRES - 1;

    private final int value;

    private EdgeId(int value) {
        this.value = value;
    }

    /** Returns the identifier; throws IllegalArgumentException outside 0 .. {@link #MAX}. */
    public static EdgeId of(int value) {
        if (value < 0 || value > MAX) {
            throw new IllegalArgumentException("edge id: expected 0 .. " + MAX + ", got " + value);
        }
        return new EdgeId(value);
    }

    /** The number. */
    public int value() {
        return value;
    }

    @Override
    public int compareTo(EdgeId other) {
        return Integer.compare(value, other.value);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof EdgeId && ((EdgeId) o).value == value;
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
