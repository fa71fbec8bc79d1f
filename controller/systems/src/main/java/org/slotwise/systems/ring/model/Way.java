// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.Objects;

/** How packets get from one station to another. Immutable. */
public final class Way {
    private final int ringlet;
    private final int hops;

    Way(int ringlet, int hops) {
        this.ringlet = ringlet;
        this.hops = hops;
    }

    /** The ringlet that they take. */
    public int ringlet() {
        return ringlet;
    }

    /** Links that they cross, at least 1. */
    public int hops() {
        return hops;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Way && ((Way) o).ringlet == ringlet && ((Way) o).hops == hops;
    }

    @Override
    public int hashCode() {
        return Objects.hash(ringlet, hops);
    }

    @Override
    public String toString() {
        return hops + " hops on ringlet " + ringlet;
    }
}
