// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.app;

import java.util.Collections;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slotwise.wire.RingPhase;
import org.slotwise.wire.RingReportHeader;
import org.slotwise.wire.WireConstants;

/** A congested link as its head has reported it last, and what the stations of its span are told. Immutable. */
public final class Span {
    private final int head;
    private final int ringlet;
    private final RingPhase phase;
    private final OptionalLong advertisedBps;
    private final int reach;
    private final RingReportHeader report;
    private final SortedMap<Integer, OptionalLong> sourcesBps = new TreeMap<>();

    Span(int head, int ringlet, RingPhase phase, boolean isLimit, long rate, int reach, RingReportHeader report, long[] rates) {
        this.head = head;
        this.ringlet = ringlet;
        this.phase = phase;
        this.advertisedBps = isLimit ? OptionalLong.of(rate * Byte.SIZE) : OptionalLong.empty();
        this.reach = reach;
        this.report = report;
        for (int source = 0; source < rates.length; source++) {
            if (rates[source] != 0) {
                sourcesBps.put(source, rates[source] == WireConstants.NO_LIMIT ? OptionalLong.empty() : OptionalLong.of(rates[source] * Byte.SIZE));
            }
        }
    }

    /** Number of the station before the link. */
    public int head() {
        return head;
    }

    /** The ringlet. */
    public int ringlet() {
        return ringlet;
    }

    /** Whether it is congested, or recovers. */
    public RingPhase phase() {
        return phase;
    }

    /** What each station of the span may add, bit/s by weight; empty if it is not limited. */
    public OptionalLong advertisedBps() {
        return advertisedBps;
    }

    /** Hops to the head from the farthest station of the span. */
    public int reach() {
        return reach;
    }

    /** What the link carries, estimated, bit/s. */
    public long linkBps() {
        return report.linkRate() * Byte.SIZE;
    }

    /** What the head adds of that, estimated, bit/s. */
    public long addedBps() {
        return report.addedRate() * Byte.SIZE;
    }

    /** Longest time in an interval that transit held back what the head could have added, ns. */
    public long holDelayNs() {
        return report.holDelayNs();
    }

    /** What stations have added of fair traffic in the last window that had some, bit/s by number; empty: not known, or more now. */
    public SortedMap<Integer, OptionalLong> sourcesBps() {
        return Collections.unmodifiableSortedMap(sourcesBps);
    }
}
