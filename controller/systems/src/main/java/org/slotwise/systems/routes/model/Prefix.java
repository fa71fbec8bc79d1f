// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.model;

import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slotwise.control.topology.Ipv4Address;

/** The addresses that begin alike: {@code 10.1.0.0/16}. */
public final class Prefix {
    private static final Pattern FORM = Pattern.compile("([0-9.]{7,15})/([0-9]|[12][0-9]|3[0-2])");
    private static final int BITS = 32;

    private final Ipv4Address address;
    private final int length;

    private Prefix(Ipv4Address address, int length) {
        this.address = address;
        this.length = length;
    }

    /** One address. */
    public static Prefix of(Ipv4Address address) {
        return new Prefix(address, BITS);
    }

    /** Reads {@code a.b.c.d/n}; throws IllegalArgumentException that says what is wrong. */
    public static Prefix parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException("expected a prefix (IPv4 address, slash, 0 .. 32), got '" + text + "'");
        }
        Ipv4Address address = Ipv4Address.parse(form.group(1));
        int length = Integer.parseInt(form.group(2));
        long rest = (1L << BITS - length) - 1;
        if ((address.value() & rest) != 0) {
            throw new IllegalArgumentException("expected zeros after the first " + length + " bits, got '" + text + "'");
        }
        return new Prefix(address, length);
    }

    /** Its first address. */
    public Ipv4Address address() {
        return address;
    }

    /** Bits that all of them have. */
    public int length() {
        return length;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Prefix && ((Prefix) o).address.equals(address) && ((Prefix) o).length == length;
    }

    @Override
    public int hashCode() {
        return Objects.hash(address, length);
    }

    @Override
    public String toString() {
        return address + "/" + length;
    }
}
