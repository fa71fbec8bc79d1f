// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.Quantile;
import io.prometheus.metrics.model.snapshots.Quantiles;
import io.prometheus.metrics.model.snapshots.SummarySnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.ControllerService;

/** What applications count and measure as Prometheus metrics, read when they are asked for. */
final class Metrics implements MultiCollector {
    private static final String PREFIX = "slotwise_controller_";

    private final ControllerService service;

    Metrics(ControllerService service) {
        this.service = service;
    }

    @Override
    public MetricSnapshots collect() {
        List<MetricSnapshot> metrics = new ArrayList<>();
        metrics.add(snapshot(Metric.counter(
                "packets_unclaimed", "Packet-ins handled by no application.", service.unclaimedPackets())));
        for (SystemResources<?> app : service.apps()) {
            app.metrics().forEach(metric -> metrics.add(snapshot(metric)));
        }
        return new MetricSnapshots(metrics);
    }

    private static MetricSnapshot snapshot(Metric metric) {
        return switch (metric.kind()) {
            case COUNTER -> counter(metric);
            case GAUGE -> gauge(metric);
            case SUMMARY -> summary(metric);
        };
    }

    private static CounterSnapshot counter(Metric metric) {
        CounterSnapshot.Builder counter = CounterSnapshot.builder().name(PREFIX + metric.name()).help(metric.help());
        metric.points().forEach(point -> counter.dataPoint(
                CounterSnapshot.CounterDataPointSnapshot.builder().labels(labels(point)).value(point.value()).build()));
        return counter.build();
    }

    private static GaugeSnapshot gauge(Metric metric) {
        GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(PREFIX + metric.name()).help(metric.help());
        metric.points().forEach(point -> gauge.dataPoint(
                GaugeSnapshot.GaugeDataPointSnapshot.builder().labels(labels(point)).value(point.value()).build()));
        return gauge.build();
    }

    private static SummarySnapshot summary(Metric metric) {
        SummarySnapshot.Builder summary = SummarySnapshot.builder().name(PREFIX + metric.name()).help(metric.help());
        for (Metric.Point point : metric.points()) {
            List<Quantile> quantiles = new ArrayList<>();
            point.quantiles().forEach((quantile, value) -> quantiles.add(new Quantile(quantile, value)));
            summary.dataPoint(SummarySnapshot.SummaryDataPointSnapshot.builder()
                    .labels(labels(point)).count((long) point.value()).quantiles(Quantiles.of(quantiles)).build());
        }
        return summary.build();
    }

    private static Labels labels(Metric.Point point) {
        List<String> pairs = new ArrayList<>();
        for (Map.Entry<String, String> label : point.labels().entrySet()) {
            pairs.add(label.getKey());
            pairs.add(label.getValue());
        }
        return Labels.of(pairs.toArray(new String[0]));
    }
}
