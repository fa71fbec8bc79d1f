// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

/** P4Runtime {@code device_id} of a switch. */
public final class DeviceId extends Id<DeviceId> {
    /** Largest number. */
    public static final long MAX = Long.MAX_VALUE;

    private DeviceId(long value) {
        super("device id", value, 1, MAX);
    }

    /** Returns the identifier; throws IllegalArgumentException outside 1 .. {@link #MAX}. */
    public static DeviceId of(long value) {
        return new DeviceId(value);
    }

    /** The number. */
    public long value() {
        return number();
    }
}
