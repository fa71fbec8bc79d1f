// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slotwise.rest.system.CommitProtocol;
import org.slotwise.rest.system.SystemPart;
import org.slotwise.rest.system.SystemSetting;
import org.slotwise.control.App;
import org.slotwise.control.AppState;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.systems.star.app.ScheduleInForce;
import org.slotwise.systems.star.app.SchedulerChosen;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.app.StarApp;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.StarTopology;

/** A star, or several, and the scheduler to begin with. */
public final class StarPart extends SystemPart<Snapshot> {
    private final Network network;
    private final SchedulerChosen configured;
    private final SystemSetting<Snapshot, String, SchedulerChosen> setting;
    /** The scheduler that the application began with. */
    private volatile SchedulerChosen first;

    StarPart(Network network, SchedulerChosen configured) {
        this(network, configured, StarResources.scheduler(network, configured));
    }

    private StarPart(Network network, SchedulerChosen configured, SystemSetting<Snapshot, String, SchedulerChosen> setting) {
        super(StarTopology.of(network), () -> StarApp.of(network, configured, System::nanoTime), StarResources.of(network, setting));
        this.network = network;
        this.configured = configured;
        this.setting = setting;
        this.first = configured;
    }

    /** The network. */
    public Network network() {
        return network;
    }

    /** Returns the scheduler that was chosen at run time; the configured one if none was or the configuration has changed since. */
    private SchedulerChosen scheduler(AppState stored) {
        return setting.stored(stored).orElse(configured);
    }

    @Override
    public App<Snapshot> make(AppState stored) {
        first = scheduler(stored);
        return StarApp.of(network, first, System::nanoTime);
    }

    /** Without the scheduler that the application began with; another controller may have stored one since it was made. */
    @Override
    public List<Event.Order> stored(AppState state) {
        return super.stored(state).stream().filter(order -> !first.equals(order)).collect(Collectors.toList());
    }

    @Override
    public Optional<CommitProtocol> commits() {
        return Optional.of(new StarCommits(network));
    }

    /** With what is chosen, which need not be what is configured. */
    @Override
    public void practise(AppState stored) {
        SchedulerChosen choice = scheduler(stored);
        if (!choice.kind().runsElsewhere()) {
            WarmUp.run(network, choice);
        }
    }

    @Override
    public void describe(AppState stored, ObjectNode ready) {
        SchedulerChosen choice = scheduler(stored);
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
