// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.rest.json.Shape;
import org.slotwise.systems.star.app.MasterShutdown;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.CoreId;
import org.slotwise.systems.star.model.Network;
import org.slotwise.wire.WireConstants;

/** State of stars, the scheduler that is chosen, and which masters are shut down. */
final class StarResources {
    /** The scheduler in use. */
    static final String SCHEDULER = "scheduler";
    /** Masters that are shut down. */
    static final String SHUTDOWN = "shutdown";

    private static final Shape<Integer> CORE = Shape.integer("core", 0, WireConstants.MAX_CORES - 1);

    private StarResources() {
    }

    /** Returns the resources of a network whose configuration has this scheduler. */
    static ResourceTable<Snapshot> of(Network network, SystemSetting<Snapshot, String, SchedulerChosen> scheduler) {
        return new ResourceTable<Snapshot>(StarApp.ID, "Slotted stars: requests of edges, schedules of cores.")
                .read("status", StarViews.STATUS).text("status", StarTexts::status)
                .read("topology", StarViews.TOPOLOGY)
                .read("nodes", StarViews.NODES)
                .read("members", StarViews.MEMBERS)
                .read("demand", StarViews.DEMAND)
                .read("schedule", ScheduleView.SCHEDULE).text("schedule", StarTexts::schedule)
                .read("statistics", StarViews.STATISTICS)
                .setting(SCHEDULER, scheduler).text(SCHEDULER, StarTexts::scheduler).read(SCHEDULER, SchedulerCodec.VIEW)
                .setting(SHUTDOWN, "masters", shutdown(network))
                .metrics(StarMetrics::of);
    }

    /** Returns the setting of the scheduler, which holds from the next frame that is scheduled. */
    static SystemSetting<Snapshot, String, SchedulerChosen> scheduler(Network network, SchedulerChosen configured) {
        return SystemSetting.one(SCHEDULER, "the scheduler", SchedulerCodec.shape(configured.kind().catalogue(), network.edges().size()), configured,
                view -> new SchedulerChosen(view.scheduler(), view.schedulerSettings()), chosen -> chosen);
    }

    /** Returns the setting of masters, each of which is enabled and disabled at one controller. */
    private static SystemSetting<Snapshot, CoreId, Boolean> shutdown(Network network) {
        Shape<CoreId> core = Shape.<CoreId>of(fields -> CoreId.of(CORE.read(fields)), (id, node) ->
                core(network, id).ifPresent(known -> CORE.write(id.value(), node).put("master", known.master().value())), "core")
                .field("core", StarViews.CORE_ID.schema()).shown("master", StarViews.EDGE_ID.schema());
        return SystemSetting.<Snapshot, CoreId, Boolean>each(SHUTDOWN, "the state of a master", core, Shape.flag("shut_down"),
                network.canShutDown() ? masters(network, id -> false) : Map.of(),
                view -> masters(network, id -> view.states().stream().anyMatch(star -> star.network().core().id().equals(id) && star.isShutDown())),
                MasterShutdown::new)
                .unavailable("disabling a master requires dynamic membership or several cores; this network has static membership and one core")
                .unknown(id -> "unknown core " + id + "; expected one of "
                        + network.cores().stream().map(each -> each.id().toString()).collect(Collectors.joining(", ")))
                .local();
    }

    private static Map<CoreId, Boolean> masters(Network network, Predicate<CoreId> isDown) {
        Map<CoreId, Boolean> masters = new LinkedHashMap<>();
        network.cores().forEach(core -> masters.put(core.id(), isDown.test(core.id())));
        return masters;
    }

    private static Optional<Core> core(Network network, CoreId id) {
        return network.cores().stream().filter(core -> core.id().equals(id)).findFirst();
    }
}
