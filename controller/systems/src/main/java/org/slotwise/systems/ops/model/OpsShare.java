// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.model;

import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.WireConstants;

/** How each edge shares its capacity among macroflows, what it sends and what it takes apart: GTP's local rule. Immutable and valid. */
public final class OpsShare {
    /** Table of an edge. */
    public static final String TABLE = "share_params";
    /** {@code edge.p4} has rates in byte/s, in 32 bits. */
    public static final long MAX_CAPACITY_BPS = Byte.SIZE * 0xFFFF_FFFFL;
    /** What it measures in a period has 31 bits. */
    private static final long MAX_PERIOD_BYTES = Integer.MAX_VALUE;
    private static final double NS_PER_S = 1e9;
    private static final int Q16 = 65_536;

    private final long capacityBps;
    private final double alpha;
    private final double beta;
    private final boolean capped;

    /**
     * Throws {@link InvalidNetworkException} with the place and the reason if a number is none of those that there may be.
     *
     * @param capacityBps of each direction, as links count bytes
     * @param alpha part of what is missing that a macroflow rises by, above 0 and below 1
     * @param beta its least step, by the largest one, above 0 and below 1
     * @param capped whether a macroflow that is just below its target gets no more than that
     */
    public OpsShare(long capacityBps, double alpha, double beta, boolean capped) {
        this.capacityBps = Ranges.check("macroflows.share.capacity_bps", capacityBps, 1, MAX_CAPACITY_BPS);
        this.alpha = step("macroflows.share.alpha", alpha);
        this.beta = step("macroflows.share.beta", beta);
        this.capped = capped;
    }

    private static double step(String where, double value) {
        if (!(value > 0 && value < 1)) {
            throw new InvalidNetworkException(where, "expected a value above 0 and below 1, got " + value);
        }
        return value;
    }

    /** Throws {@link InvalidNetworkException} if more bytes come in a period than an edge counts. */
    void check(OpsProbes probes) {
        Ranges.check("macroflows.share.capacity_bps", periodBytes(probes.periodNs()), 1, MAX_PERIOD_BYTES);
    }

    private long periodBytes(long periodNs) {
        return Math.round(capacityBps * (double) periodNs / Byte.SIZE / NS_PER_S);
    }

    /** What an edge is told, of so many macroflows of each direction and classes, with a period. */
    public TableEntry entry(int sessions, int classes, long periodNs) {
        return TableEntry.in(TABLE).action("set_share").param("sessions", sessions).param("classes", classes)
                .param("capacity", periodBytes(periodNs)).param("alpha_q16", q16(alpha)).param("beta_q16", q16(beta))
                .param("capped", capped ? 1 : 0).param("periods_q16", Math.round(Q16 * NS_PER_S / periodNs))
                .param("hold_ns", WireConstants.GRANT_PERIODS * periodNs).build();
    }

    /** The nearest that 16 bits hold, and not nothing. */
    private static long q16(double part) {
        return Math.max(1, Math.min(Q16 - 1, Math.round(part * Q16)));
    }
}
