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
import java.util.Locale;
import java.util.Map;
import org.slotwise.core.Phase;
import org.slotwise.core.Snapshot;
import org.slotwise.core.Statistics;
import org.slotwise.rest.ControllerService;

/** The controller's state and statistics as Prometheus metrics, read when they are asked for. */
final class Metrics implements MultiCollector {
    private static final String PREFIX = "slotwise_controller_";
    private static final double NS = 1e-9;

    private final ControllerService service;

    Metrics(ControllerService service) {
        this.service = service;
    }

    @Override
    public MetricSnapshots collect() {
        Snapshot snapshot = service.snapshot();
        Statistics statistics = snapshot.statistics();
        List<MetricSnapshot> metrics = new ArrayList<>();
        for (Statistics.Counter counter : Statistics.Counter.values()) {
            metrics.add(CounterSnapshot.builder().name(PREFIX + name(counter)).help("Count since the start.")
                    .dataPoint(counted(Labels.EMPTY, statistics.get(counter))).build());
        }
        CounterSnapshot.Builder refused = CounterSnapshot.builder().name(PREFIX + "requests_refused")
                .help("Packets that were no acceptable request.");
        statistics.refusals().forEach((reason, count) -> refused.dataPoint(counted(Labels.of("reason", name(reason)), count)));
        metrics.add(refused.build());
        addDuration(metrics, statistics, Statistics.Duration.SCHEDULING_NS, "scheduling_seconds", NS);
        addDuration(metrics, statistics, Statistics.Duration.WRITING_NS, "writing_seconds", NS);
        addDuration(metrics, statistics, Statistics.Duration.COMMIT_FRAMES, "commit_frames", 1);
        metrics.add(gauge("devices", "Switches of the network.", snapshot.network().edges().size() + 1));
        metrics.add(gauge("devices_ready", "Switches that are there.", snapshot.readyDevices().size()));
        snapshot.version().ifPresent(version ->
                metrics.add(gauge("schedule_version", "Version of the schedule in force.", version.value())));
        GaugeSnapshot.Builder phases = GaugeSnapshot.builder().name(PREFIX + "phase")
                .help("1 for what the controller is at.");
        for (Phase phase : Phase.values()) {
            phases.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                    .labels(Labels.of("phase", name(phase))).value(phase == snapshot.phase() ? 1 : 0).build());
        }
        metrics.add(phases.build());
        addPairs(metrics, snapshot);
        return new MetricSnapshots(metrics);
    }

    private static void addPairs(List<MetricSnapshot> metrics, Snapshot snapshot) {
        int[][] granted = snapshot.schedule().service();
        GaugeSnapshot.Builder slots = GaugeSnapshot.builder().name(PREFIX + "granted_slots")
                .help("Slots of a frame that an edge has for another.");
        GaugeSnapshot.Builder backlog = GaugeSnapshot.builder().name(PREFIX + "backlog_bytes")
                .help("Bytes that wait at an edge for another.");
        for (int i = 0; i < granted.length; i++) {
            for (int j = 0; j < granted.length; j++) {
                if (i != j) {
                    Labels pair = Labels.of("from", snapshot.network().edges().get(i).id().toString(),
                            "to", snapshot.network().edges().get(j).id().toString());
                    slots.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                            .labels(pair).value(granted[i][j]).build());
                    backlog.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                            .labels(pair).value(snapshot.backlogBytes(i, j)).build());
                }
            }
        }
        metrics.add(slots.build());
        metrics.add(backlog.build());
    }

    private static void addDuration(List<MetricSnapshot> metrics, Statistics statistics, Statistics.Duration duration,
            String name, double unit) {
        Statistics.Summary summary = statistics.get(duration);
        Map<Double, Long> values = Map.of(0.5, summary.p50(), 0.99, summary.p99(), 1.0, summary.max());
        List<Quantile> quantiles = new ArrayList<>();
        values.forEach((quantile, value) -> quantiles.add(new Quantile(quantile, value * unit)));
        metrics.add(SummarySnapshot.builder().name(PREFIX + name).help("Since the start.")
                .dataPoint(SummarySnapshot.SummaryDataPointSnapshot.builder()
                        .count(summary.count()).quantiles(Quantiles.of(quantiles)).build()).build());
    }

    private static CounterSnapshot.CounterDataPointSnapshot counted(Labels labels, long count) {
        return CounterSnapshot.CounterDataPointSnapshot.builder().labels(labels).value(count).build();
    }

    private static GaugeSnapshot gauge(String name, String help, double value) {
        return GaugeSnapshot.builder().name(PREFIX + name).help(help)
                .dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder().value(value).build()).build();
    }

    private static String name(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
