// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.network;

import java.util.Objects;

/** Fibre from an edge to a core. */
public final class Fibre {
    private final CoreId core;
    private final int port;
    private final long rateBps;
    private final long delayNs;

    /** Takes the optical port at the edge; {@link Network} checks ranges. */
    public Fibre(CoreId core, int port, long rateBps, long delayNs) {
        this.core = Objects.requireNonNull(core);
        this.port = port;
        this.rateBps = rateBps;
        this.delayNs = delayNs;
    }

    /** The core at the far end. */
    public CoreId core() {
        return core;
    }

    /** Optical port of the edge. */
    public int port() {
        return port;
    }

    /** Bits a second. */
    public long rateBps() {
        return rateBps;
    }

    /** Propagation delay. */
    public long delayNs() {
        return delayNs;
    }
}
