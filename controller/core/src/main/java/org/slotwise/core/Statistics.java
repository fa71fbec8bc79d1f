// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import org.slotwise.core.demand.RequestRefusal;

/** What the controller has done since it started. Immutable. */
public final class Statistics {
    private final Map<Counter, Long> counters;
    private final Map<RequestRefusal, Long> refusals;
    private final long schedulingCount;
    private final long schedulingP50Ns;
    private final long schedulingP99Ns;
    private final long schedulingMaxNs;

    /** Things that are counted. */
    public enum Counter {
        /** Request messages taken. */
        REQUESTS_RECEIVED,
        /** Frames for which a schedule was computed. */
        FRAMES_SCHEDULED,
        /** Frames whose schedule came out as the one in force. */
        FRAMES_UNCHANGED,
        /** Commits sent to the master, repetitions not counted. */
        COMMITS_SENT,
        /** Commits sent again since the master did not announce them. */
        COMMITS_REPEATED,
        /** Versions that all edges reported to be in force. */
        COMMITS_COMPLETED,
        /** Write batches sent to switches. */
        WRITE_BATCHES,
        /** Table entries changed in them. */
        WRITE_UPDATES,
        /** Write batches that failed. */
        WRITE_FAILURES,
        /** Times that a switch was lost. */
        DEVICES_LOST
    }

    private Statistics(Recorder recorder) {
        this.counters = Collections.unmodifiableMap(new EnumMap<>(recorder.counters));
        this.refusals = Collections.unmodifiableMap(new EnumMap<>(recorder.refusals));
        this.schedulingCount = recorder.schedulingNs.count();
        this.schedulingP50Ns = recorder.schedulingNs.percentile(50);
        this.schedulingP99Ns = recorder.schedulingNs.percentile(99);
        this.schedulingMaxNs = recorder.schedulingNs.max();
    }

    /** Collects. */
    static final class Recorder {
        private final Map<Counter, Long> counters = new EnumMap<>(Counter.class);
        private final Map<RequestRefusal, Long> refusals = new EnumMap<>(RequestRefusal.class);
        private final Histogram schedulingNs = new Histogram();

        Recorder() {
            for (Counter counter : Counter.values()) {
                counters.put(counter, 0L);
            }
            for (RequestRefusal reason : RequestRefusal.values()) {
                refusals.put(reason, 0L);
            }
        }

        void count(Counter counter) {
            count(counter, 1);
        }

        void count(Counter counter, long amount) {
            counters.merge(counter, amount, Long::sum);
        }

        void refused(RequestRefusal reason) {
            refusals.merge(reason, 1L, Long::sum);
        }

        void scheduled(long ns) {
            schedulingNs.record(ns);
        }

        Statistics snapshot() {
            return new Statistics(this);
        }
    }

    /** A count. */
    public long get(Counter counter) {
        return counters.get(counter);
    }

    /** Packets that were no acceptable request, by reason. */
    public Map<RequestRefusal, Long> refusals() {
        return refusals;
    }

    /** Schedules computed. */
    public long schedulingCount() {
        return schedulingCount;
    }

    /** Time that half of the schedules took at most, ns. */
    public long schedulingP50Ns() {
        return schedulingP50Ns;
    }

    /** Time that 99 % of the schedules took at most, ns. */
    public long schedulingP99Ns() {
        return schedulingP99Ns;
    }

    /** Time that the slowest schedule took, ns. */
    public long schedulingMaxNs() {
        return schedulingMaxNs;
    }
}
