// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.topology;

import java.util.Objects;

/** What goes from one port to another in one direction. */
public final class Lane {
    private final DeviceId from;
    private final int fromPort;
    private final DeviceId to;
    private final int toPort;
    private final long rateBps;
    private final long delayNs;

    /** Takes both ends, bit/s, and the propagation delay, ns. */
    public Lane(DeviceId from, int fromPort, DeviceId to, int toPort, long rateBps, long delayNs) {
        this.from = Objects.requireNonNull(from);
        this.fromPort = fromPort;
        this.to = Objects.requireNonNull(to);
        this.toPort = toPort;
        this.rateBps = rateBps;
        this.delayNs = delayNs;
    }

    /** The switch that sends. */
    public DeviceId from() {
        return from;
    }

    /** Its port. */
    public int fromPort() {
        return fromPort;
    }

    /** The switch that receives. */
    public DeviceId to() {
        return to;
    }

    /** Its port. */
    public int toPort() {
        return toPort;
    }

    /** Bits a second. */
    public long rateBps() {
        return rateBps;
    }

    /** Propagation delay, ns. */
    public long delayNs() {
        return delayNs;
    }

    /** Whether it goes between the same ports as another one in the other direction. */
    boolean isOpposite(Lane other) {
        return from.equals(other.to) && to.equals(other.from) && fromPort == other.toPort && toPort == other.fromPort;
    }

    @Override
    public String toString() {
        return from + ":" + fromPort + " > " + to + ":" + toPort;
    }
}
