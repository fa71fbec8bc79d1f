// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.List;
import org.slotwise.systems.ring.model.RingTiming;
import org.slotwise.systems.ring.model.StationSettings;
import org.slotwise.wire.WireConstants;

/**
 * What stations would have left in their buckets if these filled at the least rate that they were told: of a station whose bucket would
 * be full it is known that it wants no more than it adds. Kept while a link is not congested, so that who adds a packet now and then stays
 * known. The rules of {@code ring_sources.p4}, with a report for a window.
 */
final class Spares {
    private static final double NS_PER_S = 1e9;
    /** Who wants more, but is held back by transit when rates rise, may be a quarter short for a while. */
    private static final double CERTAIN = 0.75;

    private final RingTiming timing;
    /** Bytes by station, up to a bucket. */
    private final double[] left;
    private long filledNs;

    /** Takes the timing of a ring; nothing is known of its stations. */
    Spares(RingTiming timing, int stations) {
        this.timing = timing;
        this.left = new double[stations];
    }

    /**
     * Fills buckets for the time since this was last called, a window at most, as the rates are those of one.
     *
     * @param rates what each station adds, byte/s; 0: nothing, by which nothing changes; NO_LIMIT: not known, or no longer true
     * @param least the least rate by weight that they were told of late, byte/s; endless while they are told none, by which none fills
     */
    void fill(long nowNs, long[] rates, double least, List<StationSettings> settings) {
        double seconds = Double.isInfinite(least) ? 0 : Math.min(nowNs - filledNs, timing.windowNs()) / NS_PER_S;
        for (int source = 0; source < left.length; source++) {
            if (rates[source] == WireConstants.NO_LIMIT) {
                left[source] = 0;
            } else if (rates[source] != 0) {
                double more = (least * settings.get(source).weight() * CERTAIN - rates[source]) * seconds;
                left[source] = seconds > 0 ? Math.max(0, Math.min(left[source] + more, timing.bucketBytes())) : left[source];
            }
        }
        filledNs = nowNs;
    }

    /** Whether a station wants no more than it adds. */
    boolean isSatisfied(int source) {
        return left[source] >= timing.bucketBytes();
    }
}
