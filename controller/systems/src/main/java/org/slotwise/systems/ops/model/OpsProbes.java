// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.Limits;

/** What the agents of outputs reckon with, and the wavelength by which they are asked. Immutable and valid. */
public final class OpsProbes {
    /** Shortest period, ns. */
    public static final long MIN_PERIOD_NS = 1_000_000;
    /** Longest period, ns. */
    public static final long MAX_PERIOD_NS = 1_000_000_000;
    /** P4 has the constants in 1/65536, in 16 bits. */
    private static final int Q16 = 65_536;

    private final long rateBps;
    private final long periodNs;
    private final double alpha;
    private final double beta;
    private final double gamma;

    /**
     * Throws {@link InvalidNetworkException} with the place and the reason if a number is none of those that there may be.
     *
     * @param rateBps of the wavelength for probes
     * @param periodNs of probes, and interval of agents
     * @param alpha part of what is free that an agent gives, above 0
     * @param beta part of the queue that it takes back
     * @param gamma part of the traffic that it shuffles
     */
    public OpsProbes(long rateBps, long periodNs, double alpha, double beta, double gamma) {
        this.rateBps = Ranges.check("probe_rate_bps", rateBps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        this.periodNs = Ranges.check("period_ns", periodNs, MIN_PERIOD_NS, MAX_PERIOD_NS);
        this.alpha = part("alpha", alpha);
        this.beta = part("beta", beta);
        this.gamma = part("gamma", gamma);
        if (alpha == 0) {
            throw new InvalidNetworkException("alpha", "expected a value above 0 and at most 1, got 0");
        }
    }

    private static double part(String where, double value) {
        if (!(value >= 0 && value <= 1)) {
            throw new InvalidNetworkException(where, "expected 0 .. 1, got " + value);
        }
        return value;
    }

    /** Bits a second of the wavelength for probes. */
    public long rateBps() {
        return rateBps;
    }

    /** Of probes, and interval of agents, ns. */
    public long periodNs() {
        return periodNs;
    }

    public long alphaQ16() {
        return q16(alpha);
    }

    public long betaQ16() {
        return q16(beta);
    }

    public long gammaQ16() {
        return q16(gamma);
    }

    /** The nearest that 16 bits hold. */
    private static long q16(double part) {
        return Math.min(Q16 - 1, Math.round(part * Q16));
    }
}
