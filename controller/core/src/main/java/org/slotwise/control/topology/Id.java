// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/**
 * Number of an object. Immutable; numbers of one type are ordered.
 *
 * @param <T> the subclass
 */
public abstract class Id<T extends Id<T>> implements Comparable<T> {
    private final long number;

    /** Throws IllegalArgumentException outside {@code low .. high}; {@code what} begins the message. */
    protected Id(String what, long number, long low, long high) {
        if (number < low || number > high) {
            throw new IllegalArgumentException(what + ": expected " + low + " .. " + high + ", got " + number);
        }
        this.number = number;
    }

    /** The number. */
    protected final long number() {
        return number;
    }

    @Override
    public final int compareTo(T other) {
        return Long.compare(number, other.number());
    }

    // Numbers of two types, such as an edge and a core, are never equal.
    @Override
    @SuppressWarnings("EqualsGetClass")
    public final boolean equals(Object o) {
        return o != null && o.getClass() == getClass() && ((Id<?>) o).number == number;
    }

    @Override
    public final int hashCode() {
        return Long.hashCode(number);
    }

    @Override
    public final String toString() {
        return Long.toString(number);
    }
}
