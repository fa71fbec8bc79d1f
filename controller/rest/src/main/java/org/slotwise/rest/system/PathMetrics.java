// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.slotwise.control.PathApp;
import org.slotwise.control.SwitchStatus;

/** Metrics that every {@link PathApp} has. */
public final class PathMetrics {
    private PathMetrics() {
    }

    /**
     * Returns a modifiable list of these metrics.
     *
     * @param id name of the system, the prefix of all names
     * @param nodes word for its switches in names, such as {@code routers}
     * @param title the same for a sentence
     * @param paths word for the paths that change with a link, such as {@code Routes}
     */
    public static List<Metric> of(String id, String nodes, String title, String paths, Collection<? extends SwitchStatus> switches,
            long reroutes, long writeFailures) {
        return new ArrayList<>(List.of(
                Metric.counter(id + "_reroutes", paths + " changed by links going down or up.", reroutes),
                Metric.counter(id + "_write_failures", "Write batches rejected by a switch.", writeFailures),
                Metric.gauge(id + "_" + nodes, title + ".", switches.size()),
                Metric.gauge(id + "_" + nodes + "_ready", title + " connected.", switches.stream().filter(SwitchStatus::isReady).count()),
                Metric.gauge(id + "_" + nodes + "_settled", title + " in sync (all table entries acknowledged).",
                        switches.stream().filter(SwitchStatus::isSettled).count()),
                Metric.gauge(id + "_dark_ports", "Ports down.", switches.stream().mapToLong(each -> each.darkPorts().size()).sum())));
    }
}
