// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.Objects;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.Limits;

/** Light from one site to another. Immutable. */
public final class Lambda {
    private final String from;
    private final String to;
    private final long rateBps;
    private final long delayNs;

    /** Takes two sites, what passes from the first to the second, b/s, and how long that is under way, ns. */
    public Lambda(String from, String to, long rateBps, long delayNs) {
        this.from = Objects.requireNonNull(from);
        this.to = Objects.requireNonNull(to);
        this.rateBps = Ranges.check("rate_bps", rateBps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        this.delayNs = Ranges.check("delay_ns", delayNs, Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS);
    }

    /** Where it begins. */
    public String from() {
        return from;
    }

    /** Where it ends. */
    public String to() {
        return to;
    }

    /** What passes, b/s. */
    public long rateBps() {
        return rateBps;
    }

    /** How long it is under way, ns. */
    public long delayNs() {
        return delayNs;
    }
}
