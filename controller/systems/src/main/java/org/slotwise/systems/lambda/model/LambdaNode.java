// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.model;

import java.util.Objects;
import java.util.Optional;
import org.slotwise.control.topology.Ranges;
import org.slotwise.wire.Limits;

/** An end system of a lambda network: what it can send and take. Immutable. */
public final class LambdaNode {
    private final String name;
    private final Optional<String> site;
    private final long upBps;
    private final long downBps;

    /** Takes its name, where it is, if links join sites, and the rates of its access link, b/s. */
    public LambdaNode(String name, Optional<String> site, long upBps, long downBps) {
        this.name = Objects.requireNonNull(name);
        this.site = Objects.requireNonNull(site);
        this.upBps = Ranges.check("up_bps", upBps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
        this.downBps = Ranges.check("down_bps", downBps, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Where it is. */
    public Optional<String> site() {
        return site;
    }

    /** What it can send, b/s. */
    public long upBps() {
        return upBps;
    }

    /** What it can take, b/s. */
    public long downBps() {
        return downBps;
    }
}
