// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.slotwise.control.App;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.control.Ownership;
import org.slotwise.systems.shared.model.SlotReserver;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.StarTopology;
import org.slotwise.systems.star.tables.SwitchRules;

/** Application of slotted stars: edges send requests, and the controller activates a schedule at all of them. */
public final class StarApp extends App<Snapshot> implements SlotReserver {
    /** Its name. */
    public static final String ID = APP;

    private final Network network;
    private final NetworkController controller;

    /** Takes a controller of this network that nobody else uses. */
    StarApp(Network network, NetworkController controller) {
        super(ID, StarTopology.of(network), Ownership.tablesOf(network.coreDevices(), SwitchRules.OF_CORES)
                .and(Ownership.tablesOf(network.edgeDevices(), SwitchRules.OF_EDGES)));
        this.network = network;
        this.controller = controller;
    }

    /**
     * The application of a network of one star, or of several.
     *
     * @param scheduler the scheduler to begin with
     * @param stopwatchNs read before and after each computation of a schedule, for statistics only
     */
    public static StarApp of(Network network, SchedulerChosen scheduler, LongSupplier stopwatchNs) {
        return new StarApp(network, NetworkController.of(network, scheduler, stopwatchNs));
    }

    /** Returns the notice that slots cannot be reserved; earlier reservations stay. */
    static Command.Notice slotsRefused(String reason) {
        return Command.Notice.ofFailure(ID, "slots_refused", "slot reservation rejected: " + reason);
    }

    @Override
    public Optional<String> cannotReserve(int edges, int slots) {
        if (network.cores().size() > 1) {
            return Optional.of("more than one star; expected one");
        }
        if (network.corePorts().areShared()) {
            return Optional.of("edges share core ports; expected one port per edge");
        }
        if (edges != network.edges().size()) {
            return Optional.of("slots for " + edges + " edges; expected " + network.edges().size());
        }
        return slots > network.dataSlots()
                ? Optional.of("a frame has " + network.dataSlots() + " data slots; expected at least " + slots) : Optional.empty();
    }

    /** All packets of its switches: it counts those that it refuses. */
    @Override
    public boolean claims(Event.PacketIn packet) {
        return owns().devices().contains(packet.device());
    }

    /** What is dark is no news to it: nobody's requests come from there. */
    @Override
    protected void handle(Event event) {
        if (!(event instanceof Event.PortChanged)) {
            controller.onEvent(nowNs(), event).forEach(this::send);
        }
    }

    @Override
    public OptionalLong nextDeadlineNs() {
        return controller.nextDeadlineNs();
    }

    @Override
    public boolean isConfigured() {
        return controller.isConfigured();
    }

    @Override
    public Snapshot view() {
        return controller.snapshot();
    }
}
