// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** 32-bit IPv4 address. */
public final class Ipv4Address {
    private static final Pattern FORM =
            Pattern.compile("(0|[1-9]\\d{0,2})\\.(0|[1-9]\\d{0,2})\\.(0|[1-9]\\d{0,2})\\.(0|[1-9]\\d{0,2})");

    /** First numbers of addresses. */
    private static final long LOOPBACK = 127;
    private static final long FIRST_GROUP = 224;

    private final long value;

    private Ipv4Address(long value) {
        this.value = value;
    }

    /** Parses {@code 10.0.1.2}; throws IllegalArgumentException for anything else. */
    public static Ipv4Address parse(String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            throw malformed(text);
        }
        long value = 0;
        for (int group = 1; group <= 4; group++) {
            int part = Integer.parseInt(matcher.group(group));
            if (part > 255) {
                throw malformed(text);
            }
            value = value << 8 | part;
        }
        return new Ipv4Address(value);
    }

    /** As {@link #parse}, of one host: no group, nobody, everybody or oneself. */
    public static Ipv4Address ofHost(String text) {
        Ipv4Address address = parse(text);
        long network = address.value >>> 24;
        if (network == 0 || network == LOOPBACK || network >= FIRST_GROUP) {
            throw new IllegalArgumentException(
                    "expected a host address 1.0.0.0 .. 223.255.255.255 outside 127.0.0.0/8, got '" + text + "'");
        }
        return address;
    }

    private static IllegalArgumentException malformed(String text) {
        return new IllegalArgumentException(
                "expected an IPv4 address (four numbers 0 .. 255 separated by dots), got '" + text + "'");
    }

    /** The address as a number, first byte highest. */
    public long value() {
        return value;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Ipv4Address && ((Ipv4Address) o).value == value;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(value);
    }

    @Override
    public String toString() {
        return (value >>> 24) + "." + (value >>> 16 & 0xff) + "." + (value >>> 8 & 0xff) + "." + (value & 0xff);
    }
}
