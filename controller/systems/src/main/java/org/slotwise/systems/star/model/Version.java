// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

/** Version of the schedule, 32 bits that wrap. Its lowest bit is the bank that holds the schedule. */
public final class Version {
    private static final long MASK = 0xffff_ffffL;

    private final long value;

    private Version(long value) {
        this.value = value;
    }

    /** Returns the version; throws IllegalArgumentException if {@code value} does not fit in 32 bits, unsigned. */
    public static Version of(long value) {
        if ((value & ~MASK) != 0) {
            throw new IllegalArgumentException("version: expected 0 .. " + MASK + ", got " + value);
        }
        return new Version(value);
    }

    /** The number, unsigned. */
    public long value() {
        return value;
    }

    /** The version after this one; it lives in the other bank. */
    public Version next() {
        return new Version(value + 1 & MASK);
    }

    /** Whether this may be announced while {@code active} is in force: it is the same, or the one after it. */
    public boolean follows(Version active) {
        return equals(active) || equals(active.next());
    }

    /** The bank of this version, 0 or 1. */
    public int bank() {
        return (int) (value & 1);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Version && ((Version) o).value == value;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(value);
    }

    @Override
    public String toString() {
        return Long.toString(value);
    }
}
