// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.slotwise.systems.star.demand.RequestRefusal;

/** What the controller has done since it started. Immutable. */
public final class Statistics {
    private final Map<Counter, Long> counters;
    private final Map<RequestRefusal, Long> refusals;
    private final Map<Duration, Summary> durations;
    private final Map<String, Failures> failures;
    private final Map<String, Long> schedulerFrames;

    /** Things that are counted. */
    public enum Counter {
        REQUESTS_RECEIVED("Requests accepted."),
        BEACONS_HANDED_ON("Master messages relayed to member edges (out-of-band signaling)."),
        FRAMES_SCHEDULED("Frames with a computed schedule."),
        FRAMES_UNCHANGED("Frames whose schedule equals the active one."),
        SCHEDULER_FAILURES("Frames with a failed scheduler; the previous schedule stayed active."),
        COMMITS_SENT("Commits sent to masters, without repetitions."),
        COMMITS_REPEATED("Commits repeated because the master did not announce them."),
        COMMITS_COMPLETED("Schedule versions reported as active by all edges."),
        WRITE_BATCHES("Write batches sent to switches."),
        WRITE_UPDATES("Table entries in write batches."),
        WRITE_FAILURES("Write batches failed."),
        DEVICES_LOST("Switch connections lost.");

        private final String help;

        Counter(String help) {
            this.help = help;
        }

        /** Help text of its metric. */
        public String help() {
            return help;
        }
    }

    /** Things that take time. */
    public enum Duration {
        SCHEDULING_NS("Time to compute a schedule."),
        WRITING_NS("Time from the first write of a schedule to the last acknowledgment."),
        COMMIT_FRAMES("Frames from the requests to their active schedule.");

        private final String help;

        Duration(String help) {
            this.help = help;
        }

        /** Help text of its metric. */
        public String help() {
            return help;
        }
    }

    /** How one of them is distributed. */
    public static final class Summary {
        private final long count;
        private final long p50;
        private final long p99;
        private final long max;

        private Summary(Histogram histogram) {
            this.count = histogram.count();
            this.p50 = histogram.percentile(50);
            this.p99 = histogram.percentile(99);
            this.max = histogram.max();
        }

        /** How often it happened. */
        public long count() {
            return count;
        }

        /** What half of them took at most. */
        public long p50() {
            return p50;
        }

        /** What 99 % of them took at most. */
        public long p99() {
            return p99;
        }

        /** What the slowest took. */
        public long max() {
            return max;
        }
    }

    /** A scheduler that failed: how often, in how many frames, and why the first and the last time. Immutable. */
    public static final class Failures {
        private final long frames;
        private final long count;
        private final String first;
        private final String last;

        private Failures(long frames, long count, String first, String last) {
            this.frames = frames;
            this.count = count;
            this.first = first;
            this.last = last;
        }

        /** Frames for which it was to give a schedule. */
        public long frames() {
            return frames;
        }

        /** Frames for which it gave none. */
        public long count() {
            return count;
        }

        /** Reason of the first failure, one line: later ones may only be its consequences. */
        public String first() {
            return first;
        }

        /** Reason of the last failure, one line. */
        public String last() {
            return last;
        }
    }

    private Statistics(Recorder recorder) {
        this.counters = Collections.unmodifiableMap(new EnumMap<>(recorder.counters));
        this.refusals = Collections.unmodifiableMap(new EnumMap<>(recorder.refusals));
        this.durations = new EnumMap<>(Duration.class);
        recorder.durations.forEach((duration, histogram) -> durations.put(duration, new Summary(histogram)));
        this.failures = new TreeMap<>();
        recorder.lastFailures.forEach((scheduler, last) -> failures.put(scheduler, new Failures(
                recorder.scheduled.get(scheduler), recorder.failed.get(scheduler), recorder.firstFailures.get(scheduler), last)));
        this.schedulerFrames = Collections.unmodifiableMap(new TreeMap<>(recorder.scheduled));
    }

    /** Collects. */
    static final class Recorder {
        private final Map<Counter, Long> counters = new EnumMap<>(Counter.class);
        private final Map<RequestRefusal, Long> refusals = new EnumMap<>(RequestRefusal.class);
        private final Map<Duration, Histogram> durations = new EnumMap<>(Duration.class);
        /** By scheduler: frames, those of them without a schedule, and why the first and the last one. */
        private final Map<String, Long> scheduled = new HashMap<>();
        private final Map<String, Long> failed = new HashMap<>();
        private final Map<String, String> firstFailures = new HashMap<>();
        private final Map<String, String> lastFailures = new HashMap<>();

        Recorder() {
            for (Counter counter : Counter.values()) {
                counters.put(counter, 0L);
            }
            for (RequestRefusal reason : RequestRefusal.values()) {
                refusals.put(reason, 0L);
            }
            for (Duration duration : Duration.values()) {
                durations.put(duration, new Histogram());
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

        void took(Duration duration, long value) {
            durations.get(duration).record(value);
        }

        /** A scheduler is asked for a schedule. */
        void asked(String scheduler) {
            scheduled.merge(scheduler, 1L, Long::sum);
        }

        /** A scheduler that was asked gave none; returns how often that is so. */
        long failed(String scheduler, String reason) {
            count(Counter.SCHEDULER_FAILURES);
            firstFailures.putIfAbsent(scheduler, reason);
            lastFailures.put(scheduler, reason);
            return failed.merge(scheduler, 1L, Long::sum);
        }

        Statistics snapshot() {
            return new Statistics(this);
        }
    }

    /** A count. */
    public long get(Counter counter) {
        return counters.get(counter);
    }

    /** Schedulers that failed, by name. */
    public Map<String, Failures> schedulerFailures() {
        return Collections.unmodifiableMap(failures);
    }

    /** Frames of each scheduler called, by name, with or without failures. */
    public Map<String, Long> schedulerFrames() {
        return schedulerFrames;
    }

    /** Packets that were no acceptable request, or beacon to hand on, by reason. */
    public Map<RequestRefusal, Long> refusals() {
        return refusals;
    }

    /** How long something took. */
    public Summary get(Duration duration) {
        return durations.get(duration);
    }
}
