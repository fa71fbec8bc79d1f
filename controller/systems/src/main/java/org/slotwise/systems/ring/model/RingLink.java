// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

/** What joins a station to the next one: a fibre in each direction. Immutable. */
public final class RingLink {
    private final int from;
    private final long rateBps;
    private final long delayNs;

    /** Takes the number of the station before it, bit/s and ns of each direction; {@link RingNetwork} checks them. */
    public RingLink(int from, long rateBps, long delayNs) {
        this.from = from;
        this.rateBps = rateBps;
        this.delayNs = delayNs;
    }

    /** The station before it along ringlet 0; also the link's own number. */
    public int from() {
        return from;
    }

    /** Bit/s of each direction. */
    public long rateBps() {
        return rateBps;
    }

    /** The same in byte/s, as P4 has rates. */
    public long capacity() {
        return rateBps / Byte.SIZE;
    }

    /** Propagation delay of each direction, ns. */
    public long delayNs() {
        return delayNs;
    }
}
