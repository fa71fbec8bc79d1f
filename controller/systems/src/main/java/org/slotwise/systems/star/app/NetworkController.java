// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.slotwise.control.Command;
import org.slotwise.control.Event;
import org.slotwise.systems.star.model.Network;

/**
 * The controller of a network as a pure state machine: it reads no clock (the stopwatch only measures), opens no socket
 * and starts no thread; one thread at a time may call it.
 */
public interface NetworkController {
    /**
     * The controller of a network: of its star, or of all its stars.
     *
     * @param scheduler the scheduler to begin with
     * @param stopwatchNs read before and after each computation of a schedule, for statistics only
     */
    static NetworkController of(Network network, SchedulerChosen scheduler, LongSupplier stopwatchNs) {
        return network.stars().size() == 1
                ? new StarController(network, scheduler, stopwatchNs)
                : new OverlaidStars(network, scheduler, stopwatchNs);
    }

    /** Takes an event that happened at {@code nowNs}, which never goes back, and returns what to do, in order. */
    List<Command> onEvent(long nowNs, Event event);

    /** When {@link Event.DeadlineReached} is wanted if nothing else happens. */
    OptionalLong nextDeadlineNs();

    /** Whether all switches have had all rules that do not depend on the schedule, at least once. */
    boolean isConfigured();

    /** What is known now. */
    Snapshot snapshot();
}
