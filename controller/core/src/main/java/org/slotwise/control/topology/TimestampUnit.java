// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/** Unit of a target's own timestamps; thresholds that P4 compares with them are written in it. */
public enum TimestampUnit {
    /** Nanoseconds. */
    NS(1),
    /** Microseconds, as BMv2 has them. */
    US(1000);

    private final long ns;

    TimestampUnit(long ns) {
        this.ns = ns;
    }

    /** Reads {@code ns} or {@code us}; throws IllegalArgumentException for anything else. */
    public static TimestampUnit parse(String text) {
        switch (text) {
            case "ns":
                return NS;
            case "us":
                return US;
            default:
                throw new IllegalArgumentException("expected ns or us, got '" + text + "'");
        }
    }

    /** One unit in nanoseconds. */
    public long ns() {
        return ns;
    }
}
