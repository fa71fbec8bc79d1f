// SPDX-License-Identifier: Apache-2.0
package org.slotwise.ring;

import org.slotwise.control.topology.InvalidNetworkException;

/** Bounds of what a ring is made of. */
final class Ranges {
    private Ranges() {
    }

    static void check(String where, long value, long low, long high) {
        if (value < low || value > high) {
            throw new InvalidNetworkException(where, "must be " + low + " .. " + high + ", got " + value);
        }
    }
}
