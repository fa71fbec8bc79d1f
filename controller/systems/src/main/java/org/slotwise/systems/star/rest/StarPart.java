// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slotwise.apps.AppPart;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.CommitProtocol;
import org.slotwise.apps.Running;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.topology.Topology;
import org.slotwise.systems.star.app.MasterShutdown;
import org.slotwise.systems.star.app.ScheduleInForce;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.StarTopology;

/** A star, or several, and the scheduler to begin with. */
public final class StarPart implements AppPart<Snapshot> {
    private final Network network;
    private final SchedulerChosen scheduler;
    /** The scheduler that the application began with. */
    private volatile SchedulerChosen first;

    StarPart(Network network, SchedulerChosen scheduler) {
        this.network = network;
        this.scheduler = scheduler;
        this.first = scheduler;
    }

    /** The network. */
    public Network network() {
        return network;
    }

    /** Returns the scheduler that was chosen at run time; the configured one if none was or the configuration has changed since. */
    private SchedulerChosen scheduler(AppState kept) {
        return KeptStar.scheduler(kept, scheduler).orElse(scheduler);
    }

    @Override
    public Topology topology() {
        return StarTopology.of(network);
    }

    @Override
    public App<Snapshot> make(AppState kept) {
        first = scheduler(kept);
        return StarApp.of(network, first, System::nanoTime);
    }

    @Override
    public AppResources resources(Running<Snapshot> running) {
        return new StarResources(running, scheduler);
    }

    @Override
    public List<Event.Order> kept(AppState kept) {
        List<Event.Order> orders = new ArrayList<>();
        SchedulerChosen now = scheduler(kept);
        // Another controller may have kept one since this one's application was made.
        if (!KeptStar.encode(now).equals(KeptStar.encode(first))) {
            orders.add(now);
        }
        if (network.canShutDown()) {
            network.cores().stream().filter(core -> KeptStar.isShutDown(kept, core.id()))
                    .forEach(core -> orders.add(new MasterShutdown(core.id(), true)));
        }
        return orders;
    }

    @Override
    public Optional<CommitProtocol> commits() {
        return Optional.of(new StarCommits(network));
    }

    /** A master is enabled and disabled at one controller. */
    @Override
    public boolean isShared(String what) {
        return !what.equals(StarResources.SHUTDOWN);
    }

    /** With what is chosen, which need not be what is configured. */
    @Override
    public void practise(AppState kept) {
        SchedulerChosen choice = scheduler(kept);
        if (!choice.kind().runsElsewhere()) {
            WarmUp.run(network, choice);
        }
    }

    @Override
    public void describe(AppState kept, ObjectNode ready) {
        SchedulerChosen choice = scheduler(kept);
        ready.set("scheduler", SchedulerCodec.encode(choice.kind(), choice.settings()));
    }

    /** Each schedule that came into force; of several stars with the one that it is of. */
    @Override
    public Optional<ObjectNode> history(Command.Notice notice) {
        if (!(notice instanceof ScheduleInForce)) {
            return Optional.empty();
        }
        ScheduleInForce inForce = (ScheduleInForce) notice;
        ObjectNode entry = JsonNodeFactory.instance.objectNode().put("event", "schedule");
        if (network.cores().size() > 1) {
            entry.put("core", inForce.core().value());
        }
        return Optional.of(entry.put("version", inForce.version().value()).put("changed_connections", inForce.changedConnections()));
    }
}
