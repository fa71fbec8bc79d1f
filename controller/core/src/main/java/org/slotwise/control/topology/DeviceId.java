// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/** P4Runtime {@code device_id} of a switch. */
public final class DeviceId implements Comparable<DeviceId> {
    /** Largest number that an identifier may have. */
    public static final long MAX = Long.MAX_VALUE;

    private final long value;

    private DeviceId(long value) {
        this.value = value;
    }

    /** Returns the identifier; throws IllegalArgumentException outside 1 .. {@link #MAX}. */
    public static DeviceId of(long value) {
        if (value < 1) {
            throw new IllegalArgumentException("device id: expected 1 .. " + MAX + ", got " + value);
        }
        return new DeviceId(value);
    }

    /** The number. */
    public long value() {
        return value;
    }

    @Override
    public int compareTo(DeviceId other) {
        return Long.compare(value, other.value);
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof DeviceId && ((DeviceId) o).value == value;
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
