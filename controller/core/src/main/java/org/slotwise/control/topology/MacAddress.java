// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.regex.Pattern;

/** 48-bit Ethernet address of one station. */
public final class MacAddress {
    private static final Pattern FORM = Pattern.compile("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}");

    /** Set in the first byte of addresses of groups. */
    private static final long GROUP = 1L << 40;

    private final long value;

    private MacAddress(long value) {
        this.value = value;
    }

    /** Parses {@code 02:00:00:01:00:01}; throws IllegalArgumentException for anything else, and for what no station has. */
    public static MacAddress parse(String text) {
        if (!FORM.matcher(text).matches()) {
            throw new IllegalArgumentException(
                    "expected a MAC address (six pairs of hexadecimal digits separated by colons), got '" + text + "'");
        }
        long value = Long.parseLong(text.replace(":", ""), 16);
        if (value == 0 || (value & GROUP) != 0) {
            throw new IllegalArgumentException("expected a unicast MAC address that is not all zeros, got '" + text + "'");
        }
        return new MacAddress(value);
    }

    /** The address as a number, first byte highest. */
    public long value() {
        return value;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof MacAddress && ((MacAddress) o).value == value;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(value);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(17);
        for (int shift = 40; shift >= 0; shift -= 8) {
            text.append(Character.forDigit((int) (value >>> shift + 4) & 0xf, 16)).append(Character.forDigit((int) (value >>> shift) & 0xf, 16));
            if (shift > 0) {
                text.append(':');
            }
        }
        return text.toString();
    }
}
