// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.tables;

import java.util.Objects;

/** One key field of a table entry. Values are unsigned, at most 64 bits. */
public final class Match {
    /** How the field is compared. */
    public enum Kind {
        /** Equal to the value. */
        EXACT,
        /** First {@link Match#detail()} bits equal. */
        LPM,
        /** Equal where the mask {@link Match#detail()} has ones. */
        TERNARY,
        /** Range from the value to {@link Match#detail()}. */
        RANGE
    }

    private final String field;
    private final Kind kind;
    private final long value;
    private final long detail;

    private Match(String field, Kind kind, long value, long detail) {
        this.field = Objects.requireNonNull(field);
        this.kind = kind;
        this.value = value;
        this.detail = detail;
    }

    /** A field that equals {@code value}. */
    public static Match exact(String field, long value) {
        return new Match(field, Kind.EXACT, value, 0);
    }

    /** A field whose first {@code prefixBits} bits equal those of {@code value}. */
    public static Match lpm(String field, long value, int prefixBits) {
        return new Match(field, Kind.LPM, value, prefixBits);
    }

    /** A field that equals {@code value} where {@code mask} has ones. */
    public static Match ternary(String field, long value, long mask) {
        return new Match(field, Kind.TERNARY, value, mask);
    }

    /** A field from {@code low} to {@code high}. */
    public static Match range(String field, long low, long high) {
        return new Match(field, Kind.RANGE, low, high);
    }

    /** Name of the field, as P4Info has it. */
    public String field() {
        return field;
    }

    /** How the field is compared. */
    public Kind kind() {
        return kind;
    }

    /** The value. */
    public long value() {
        return value;
    }

    /** Prefix length in bits (LPM), mask (TERNARY) or last value (RANGE). */
    public long detail() {
        return detail;
    }

    @Override
    public boolean equals(Object o) {
        if (!(o instanceof Match)) {
            return false;
        }
        Match other = (Match) o;
        return field.equals(other.field) && kind == other.kind && value == other.value && detail == other.detail;
    }

    @Override
    public int hashCode() {
        return Objects.hash(field, kind, value, detail);
    }

    @Override
    public String toString() {
        switch (kind) {
            case LPM:
                return field + "=" + Long.toUnsignedString(value) + "/" + detail;
            case TERNARY:
                return field + "=" + Long.toUnsignedString(value) + "&" + Long.toUnsignedString(detail);
            case RANGE:
                return field + "=" + Long.toUnsignedString(value) + ".." + Long.toUnsignedString(detail);
            default:
                return field + "=" + Long.toUnsignedString(value);
        }
    }
}
