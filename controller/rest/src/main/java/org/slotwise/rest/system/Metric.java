// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/** Something that is counted or measured, with its values now, for whatever collects such things. */
public final class Metric {
    /** What its values are. */
    public enum Kind {
        /** Counts that only grow. */
        COUNTER,
        /** Values of now. */
        GAUGE,
        /** Quantiles of what has been measured so far. */
        SUMMARY
    }

    private final Kind kind;
    private final String name;
    private final String help;
    private final List<Point> points = new ArrayList<>();

    /** One value, or of a summary the number of measurements and their quantiles. */
    public static final class Point {
        private final Map<String, String> labels;
        private final double value;
        private final Map<Double, Double> quantiles;

        private Point(Map<String, String> labels, double value, Map<Double, Double> quantiles) {
            this.labels = Map.copyOf(labels);
            this.value = value;
            this.quantiles = Map.copyOf(quantiles);
        }

        /** What it is the value of. */
        public Map<String, String> labels() {
            return labels;
        }

        /** The value, or how often it was measured. */
        public double value() {
            return value;
        }

        /** Of a summary: by quantile, 0 .. 1. */
        public Map<Double, Double> quantiles() {
            return quantiles;
        }
    }

    /** Takes a name of letters, digits and underscores, and a sentence; without a value at first. */
    public Metric(Kind kind, String name, String help) {
        this.kind = Objects.requireNonNull(kind);
        this.name = Objects.requireNonNull(name);
        this.help = Objects.requireNonNull(help);
    }

    /** A count. */
    public static Metric counter(String name, String help, long count) {
        return new Metric(Kind.COUNTER, name, help).point(Map.of(), count);
    }

    /** A value of now. */
    public static Metric gauge(String name, String help, double value) {
        return new Metric(Kind.GAUGE, name, help).point(Map.of(), value);
    }

    /** Counts by reason. */
    public static Metric refused(String name, String help, Map<? extends Enum<?>, Long> counts) {
        Metric refused = new Metric(Kind.COUNTER, name, help);
        counts.forEach((reason, count) -> refused.point(Map.of("reason", name(reason)), count));
        return refused;
    }

    /** How a constant is named in metrics. */
    public static String name(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    /** Adds a value. */
    public Metric point(Map<String, String> labels, double value) {
        points.add(new Point(labels, value, Map.of()));
        return this;
    }

    /** Adds a summary. */
    public Metric summary(long count, Map<Double, Double> quantiles) {
        points.add(new Point(Map.of(), count, quantiles));
        return this;
    }

    /** What its values are. */
    public Kind kind() {
        return kind;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** One sentence. */
    public String help() {
        return help;
    }

    /** Its values. */
    public List<Point> points() {
        return List.copyOf(points);
    }
}
