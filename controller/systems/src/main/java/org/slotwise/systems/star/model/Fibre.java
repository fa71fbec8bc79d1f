// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

import java.util.Objects;
import java.util.OptionalInt;

/** Fibre from an edge to a core. */
public final class Fibre {
    private final CoreId core;
    private final int port;
    private final long rateBps;
    private final long delayNs;
    private final OptionalInt corePort;

    /** A fibre to the port of the core that has the edge's number. Takes the optical port at the edge. */
    public Fibre(CoreId core, int port, long rateBps, long delayNs) {
        this(core, port, rateBps, delayNs, OptionalInt.empty());
    }

    /** Takes the ports at the edge and, unless it has the edge's number, at the core; {@link Network} checks ranges. */
    public Fibre(CoreId core, int port, long rateBps, long delayNs, OptionalInt corePort) {
        this.core = Objects.requireNonNull(core);
        this.port = port;
        this.rateBps = rateBps;
        this.delayNs = delayNs;
        this.corePort = Objects.requireNonNull(corePort);
    }

    /** The core at the far end. */
    public CoreId core() {
        return core;
    }

    /** Optical port of the edge. */
    public int port() {
        return port;
    }

    /** Port of the core, which edges may share; empty: the one with the edge's number. */
    public OptionalInt corePort() {
        return corePort;
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
