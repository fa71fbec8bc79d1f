// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

/** A fibre between two switches, both ways. Immutable. */
public final class OpsLink {
    private final int a;
    private final int b;
    private final int fibreAtA;
    private final int fibreAtB;
    private final long delayNs;

    /** Takes numbers of the switches, of the fibre at each, and the propagation delay, ns; {@link OpsNetwork} checks them. */
    public OpsLink(int a, int b, int fibreAtA, int fibreAtB, long delayNs) {
        this.a = a;
        this.b = b;
        this.fibreAtA = fibreAtA;
        this.fibreAtB = fibreAtB;
        this.delayNs = delayNs;
    }

    /** One switch. */
    public int a() {
        return a;
    }

    /** The other one. */
    public int b() {
        return b;
    }

    /** Number of the fibre at {@link #a}. */
    public int fibreAtA() {
        return fibreAtA;
    }

    /** Number of the fibre at {@link #b}. */
    public int fibreAtB() {
        return fibreAtB;
    }

    /** Propagation delay, ns. */
    public long delayNs() {
        return delayNs;
    }
}
