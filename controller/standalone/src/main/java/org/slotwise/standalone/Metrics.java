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
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.rest.ControllerService;
import org.slotwise.ring.RingView;
import org.slotwise.routes.RoutesView;
import org.slotwise.star.Phase;
import org.slotwise.star.Snapshot;
import org.slotwise.star.StarSnapshot;
import org.slotwise.star.Statistics;

/** The controller's state and statistics as Prometheus metrics, read when they are asked for. */
final class Metrics implements MultiCollector {
    private static final String PREFIX = "slotwise_controller_";
    private static final double NS = 1e-9;
    private static final Logger LOG = LoggerFactory.getLogger(Metrics.class);

    private final ControllerService service;

    Metrics(ControllerService service) {
        this.service = service;
    }

    @Override
    public MetricSnapshots collect() {
        List<MetricSnapshot> metrics = new ArrayList<>();
        metrics.add(counter("packets_unclaimed", "Packets of switches that no application wanted.", service.unclaimedPackets()));
        service.routes().ifPresent(view -> addRoutes(metrics, view));
        service.ring().ifPresent(view -> addRing(metrics, view));
        try {
            addStar(metrics, service.snapshot());
        } catch (ControllerService.NoSuchApplicationException noStar) {
            LOG.trace("there is no star", noStar);
        }
        return new MetricSnapshots(metrics);
    }

    private static void addRoutes(List<MetricSnapshot> metrics, RoutesView view) {
        Collection<RoutesView.RouterView> routers = view.routers().values();
        metrics.add(counter("routes_reroutes", "How often routes have changed since links came or went.", view.reroutes()));
        metrics.add(counter("routes_write_failures", "Batches that a router refused.", view.writeFailures()));
        metrics.add(gauge("routes_routers", "Routers of the network.", routers.size()));
        metrics.add(gauge("routes_routers_ready", "Routers that are there.",
                routers.stream().filter(RoutesView.RouterView::isReady).count()));
        metrics.add(gauge("routes_routers_settled", "Routers that have all their routes and capacities.",
                routers.stream().filter(RoutesView.RouterView::isSettled).count()));
        metrics.add(gauge("routes_dark_ports", "Ports without light.",
                routers.stream().mapToLong(router -> router.darkPorts().size()).sum()));
    }

    private static void addRing(List<MetricSnapshot> metrics, RingView view) {
        RingView.Counts counts = view.counts();
        metrics.add(counter("ring_reroutes", "How often ways around the ring have changed since links came or went.", counts.reroutes()));
        metrics.add(counter("ring_write_failures", "Batches that a station refused.", counts.writeFailures()));
        metrics.add(counter("ring_reports", "Reports of congested links.", counts.reports()));
        metrics.add(refused("ring_reports_refused", "Packets that were no acceptable report.", counts.refused()));
        metrics.add(counter("ring_messages", "How often stations were told what they may add.", counts.messages()));
        metrics.add(gauge("ring_stations", "Stations of the ring.", view.stations().size()));
        metrics.add(gauge("ring_stations_ready", "Stations that are there.",
                view.stations().stream().filter(RingView.StationView::isReady).count()));
        metrics.add(gauge("ring_stations_settled", "Stations that have all their tables.",
                view.stations().stream().filter(RingView.StationView::isSettled).count()));
        metrics.add(gauge("ring_dark_ports", "Ports of the ring without light.",
                view.stations().stream().mapToLong(station -> station.darkPorts().size()).sum()));
        metrics.add(gauge("ring_spans", "Links that stations report to be congested, or to recover.", view.spans().size()));
    }

    private static void addStar(List<MetricSnapshot> metrics, Snapshot snapshot) {
        Statistics statistics = snapshot.statistics();
        for (Statistics.Counter counter : Statistics.Counter.values()) {
            metrics.add(counter(name(counter), "Count since the start.", statistics.get(counter)));
        }
        metrics.add(refused("requests_refused", "Packets that were no acceptable request.", statistics.refusals()));
        metrics.add(refused("member_messages_refused", "Messages of edges about their membership that were not taken.",
                snapshot.memberRefusals()));
        addDuration(metrics, statistics, Statistics.Duration.SCHEDULING_NS, "scheduling_seconds", NS);
        addDuration(metrics, statistics, Statistics.Duration.WRITING_NS, "writing_seconds", NS);
        addDuration(metrics, statistics, Statistics.Duration.COMMIT_FRAMES, "commit_frames", 1);
        metrics.add(gauge("devices", "Switches of the network.", snapshot.network().devices().size()));
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
        if (!snapshot.stars().isEmpty()) {
            addStars(metrics, snapshot);
        }
    }

    /** Of overlaid stars, each; parts of a pair's traffic are sixteenths. */
    private static void addStars(List<MetricSnapshot> metrics, Snapshot snapshot) {
        GaugeSnapshot.Builder live = GaugeSnapshot.builder().name(PREFIX + "star_live")
                .help("1 if traffic may go through a star.");
        GaugeSnapshot.Builder usable = GaugeSnapshot.builder().name(PREFIX + "star_usable_edges")
                .help("Edges that are reached through a star.");
        GaugeSnapshot.Builder load = GaugeSnapshot.builder().name(PREFIX + "star_load_slots")
                .help("Slots of a frame that the busiest row or column of a star wants.");
        GaugeSnapshot.Builder version = GaugeSnapshot.builder().name(PREFIX + "star_schedule_version")
                .help("Version of the schedule in force in a star.");
        GaugeSnapshot.Builder parts = GaugeSnapshot.builder().name(PREFIX + "parts")
                .help("Sixteenths of what an edge has for another that go through a star.");
        int edges = snapshot.network().edges().size();
        for (int k = 0; k < snapshot.stars().size(); k++) {
            StarSnapshot star = snapshot.stars().get(k);
            String core = star.state().network().core().id().toString();
            Labels label = Labels.of("core", core);
            live.dataPoint(point(label, star.isLive() ? 1 : 0));
            usable.dataPoint(point(label, star.usableEdges().size()));
            load.dataPoint(point(label, star.loadSlots()));
            star.state().version().ifPresent(inForce -> version.dataPoint(point(label, inForce.value())));
            for (int pair = 0; pair < edges * edges; pair++) {
                int from = pair / edges;
                int to = pair % edges;
                if (from != to) {
                    parts.dataPoint(point(Labels.of("core", core, "from", snapshot.network().edges().get(from).id().toString(),
                            "to", snapshot.network().edges().get(to).id().toString()), snapshot.parts(from, to, k)));
                }
            }
        }
        for (GaugeSnapshot.Builder gauge : List.of(live, usable, load, version, parts)) {
            metrics.add(gauge.build());
        }
    }

    private static GaugeSnapshot.GaugeDataPointSnapshot point(Labels labels, double value) {
        return GaugeSnapshot.GaugeDataPointSnapshot.builder().labels(labels).value(value).build();
    }

    private static void addPairs(List<MetricSnapshot> metrics, Snapshot snapshot) {
        int[][] granted = snapshot.grantedSlots();
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

    private static CounterSnapshot refused(String name, String help, Map<? extends Enum<?>, Long> counts) {
        CounterSnapshot.Builder refused = CounterSnapshot.builder().name(PREFIX + name).help(help);
        counts.forEach((reason, count) -> refused.dataPoint(counted(Labels.of("reason", name(reason)), count)));
        return refused.build();
    }

    private static CounterSnapshot counter(String name, String help, long count) {
        return CounterSnapshot.builder().name(PREFIX + name).help(help).dataPoint(counted(Labels.EMPTY, count)).build();
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
