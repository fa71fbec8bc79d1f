// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.slotwise.rest.system.Metric;
import org.slotwise.systems.star.app.Phase;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarSnapshot;
import org.slotwise.systems.star.app.Statistics;

/** What is counted and measured of stars. */
final class StarMetrics {
    private static final double NS = 1e-9;

    private StarMetrics() {
    }

    static List<Metric> of(Snapshot snapshot) {
        List<Metric> metrics = new ArrayList<>();
        Statistics statistics = snapshot.statistics();
        for (Statistics.Counter counter : Statistics.Counter.values()) {
            metrics.add(Metric.counter(Metric.name(counter), counter.help(), statistics.get(counter)));
        }
        metrics.add(Metric.refused("requests_refused", "Requests rejected, by reason.", statistics.refusals()));
        metrics.add(Metric.refused("member_messages_refused", "Membership messages rejected, by reason.",
                snapshot.memberRefusals()));
        metrics.add(duration(statistics, Statistics.Duration.SCHEDULING_NS, "scheduling_seconds", NS));
        metrics.add(duration(statistics, Statistics.Duration.WRITING_NS, "writing_seconds", NS));
        metrics.add(duration(statistics, Statistics.Duration.COMMIT_FRAMES, "commit_frames", 1));
        metrics.add(Metric.gauge("devices", "Switches.", snapshot.network().devices().size()));
        metrics.add(Metric.gauge("devices_ready", "Switches connected.", snapshot.readyDevices().size()));
        snapshot.version().ifPresent(version ->
                metrics.add(Metric.gauge("schedule_version", "Version of the active schedule.", version.value())));
        Metric phases = gauge("phase", "Controller phase: 1 for the current one, else 0.");
        for (Phase phase : Phase.values()) {
            phases.point(Map.of("phase", Metric.name(phase)), phase == snapshot.phase() ? 1 : 0);
        }
        metrics.add(phases);
        addPairs(metrics, snapshot);
        if (!snapshot.stars().isEmpty()) {
            addStars(metrics, snapshot);
        }
        return metrics;
    }

    private static Metric gauge(String name, String help) {
        return new Metric(Metric.Kind.GAUGE, name, help);
    }

    private static Metric duration(Statistics statistics, Statistics.Duration duration, String name, double unit) {
        Statistics.Summary summary = statistics.get(duration);
        return new Metric(Metric.Kind.SUMMARY, name, duration.help()).summary(summary.count(),
                Map.of(0.5, summary.p50() * unit, 0.99, summary.p99() * unit, 1.0, summary.max() * unit));
    }

    /** Of overlaid stars, each; parts of a pair's traffic are sixteenths. */
    private static void addStars(List<Metric> metrics, Snapshot snapshot) {
        Metric live = gauge("star_live", "1 if the star may carry traffic, else 0.");
        Metric usable = gauge("star_usable_edges", "Edges reachable through the star.");
        Metric load = gauge("star_load_slots", "Largest row or column sum of the star's demand, slots per frame.");
        Metric version = gauge("star_schedule_version", "Version of the star's active schedule.");
        Metric parts = gauge("parts", "Hash buckets (of 16) of an edge pair routed through a star.");
        int edges = snapshot.network().edges().size();
        for (int k = 0; k < snapshot.stars().size(); k++) {
            StarSnapshot star = snapshot.stars().get(k);
            String core = star.state().network().core().id().toString();
            Map<String, String> label = Map.of("core", core);
            live.point(label, star.isLive() ? 1 : 0);
            usable.point(label, star.usableEdges().size());
            load.point(label, star.loadSlots());
            star.state().version().ifPresent(inForce -> version.point(label, inForce.value()));
            for (int pair = 0; pair < edges * edges; pair++) {
                int from = pair / edges;
                int to = pair % edges;
                if (from != to) {
                    parts.point(Map.of("core", core, "from", edge(snapshot, from), "to", edge(snapshot, to)), snapshot.parts(from, to, k));
                }
            }
        }
        metrics.addAll(List.of(live, usable, load, version, parts));
    }

    private static void addPairs(List<Metric> metrics, Snapshot snapshot) {
        int[][] granted = snapshot.grantedSlots();
        Metric slots = gauge("granted_slots", "Slots per frame granted to an edge pair.");
        Metric backlog = gauge("backlog_bytes", "Bytes queued for an edge pair.");
        for (int i = 0; i < granted.length; i++) {
            for (int j = 0; j < granted.length; j++) {
                if (i != j) {
                    Map<String, String> pair = Map.of("from", edge(snapshot, i), "to", edge(snapshot, j));
                    slots.point(pair, granted[i][j]);
                    backlog.point(pair, snapshot.backlogBytes(i, j));
                }
            }
        }
        metrics.addAll(List.of(slots, backlog));
    }

    private static String edge(Snapshot snapshot, int number) {
        return snapshot.network().edges().get(number).id().toString();
    }
}
