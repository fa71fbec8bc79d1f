// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/** Bounds of what a network is made of. */
public final class Ranges {
    private Ranges() {
    }

    /** The value; throws {@link InvalidNetworkException} with its place if it is not {@code low .. high}. */
    public static long check(String where, long value, long low, long high) {
        if (value < low || value > high) {
            throw new InvalidNetworkException(where, "expected " + low + " .. " + high + ", got " + value);
        }
        return value;
    }
}
