// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.slotwise.control.Command;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.Reasons;
import org.slotwise.systems.star.schedule.Reservations;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerKind;

/** The scheduler of a star, which may be anyone's: whatever goes wrong in it, the schedule in force is a right one, and stays. */
final class ScheduleMaker {
    private final Network network;
    private final Statistics.Recorder statistics;
    private final Consumer<Command.Notice> listener;
    private SchedulerKind kind;
    private Map<String, String> settings;
    private Scheduler scheduler;
    private Optional<Reservations> reservations = Optional.empty();
    /** The same without what is of edges that are left out, and these edges. */
    private Optional<Reservations> standing = Optional.empty();
    private BitSet leftOut = new BitSet();

    /** Takes a star, the scheduler to begin with, and who is told of failures. */
    ScheduleMaker(Network network, SchedulerChosen choice, Statistics.Recorder statistics, Consumer<Command.Notice> listener) {
        this.network = network;
        this.statistics = statistics;
        this.listener = listener;
        choose(choice);
    }

    /** Takes another scheduler; one that cannot be made gives no schedules. */
    void choose(SchedulerChosen choice) {
        kind = choice.kind();
        settings = choice.settings();
        try {
            scheduler = kind.create(settings, network.corePorts());
        } catch (RuntimeException | Error e) {
            String reason = "cannot be created: " + Reasons.of(e);
            scheduler = (demand, current) -> {
                throw new Scheduler.FailedException(reason);
            };
        }
    }

    /** Pairs have these slots in every frame from now on, and no others that were reserved before; empty: it was done; else why it was not. */
    Optional<String> reserve(int[][] slots) {
        if (network.corePorts().areShared()) {
            return Optional.of("edges share core ports; expected one port per edge");
        }
        if (slots.length != network.edges().size()) {
            return Optional.of("slots for " + slots.length + " edges; expected " + network.edges().size());
        }
        try {
            reservations = Optional.of(new Reservations(slots, network.dataSlots()));
            standing = reservations;
            leftOut = new BitSet();
            return Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.of(e.getMessage());
        }
    }

    /** The scheduler. */
    SchedulerKind kind() {
        return kind;
    }

    /** Its settings, all of them. */
    Map<String, String> settings() {
        return settings;
    }

    /** What is reserved of edges that take part: for others it would keep the rest of their rows and columns dark. */
    private Optional<Reservations> standing(IntPredicate takesPart) {
        BitSet out = new BitSet();
        IntStream.range(0, network.edges().size()).filter(takesPart.negate()).forEach(out::set);
        if (!out.equals(leftOut)) {
            leftOut = out;
            standing = reservations.map(each -> each.without(out));
        }
        return standing;
    }

    /**
     * Returns the schedule of the next frames, with all slots reserved between participating edges; the active one if the scheduler
     * returns none of the right size. The demand from and to an excluded edge is 0; its spare slots stay idle.
     */
    FrameSchedule next(int[][] demandSlots, FrameSchedule active, IntPredicate takesPart) {
        boolean all = true;
        for (int edge = 0; edge < demandSlots.length; edge++) {
            for (int from = 0; !takesPart.test(edge) && from < demandSlots.length; from++) {
                demandSlots[from][edge] = 0;
                all = false;
            }
        }
        FrameSchedule next = scheduled(demandSlots, active, takesPart);
        return all ? next : next.without(takesPart.negate());
    }

    private FrameSchedule scheduled(int[][] demandSlots, FrameSchedule active, IntPredicate takesPart) {
        Optional<Reservations> reserved = standing(takesPart);
        statistics.asked(kind.title());
        try {
            // A copy, which may be written to.
            int[][] demand = Arrays.stream(demandSlots).map(int[]::clone).toArray(int[][]::new);
            reserved.ifPresent(each -> each.raise(demand));
            FrameSchedule next = scheduler.schedule(demand, active);
            if (next.edges() == active.edges() && next.slots() == active.slots()) {
                return reserved.map(each -> each.applyTo(next, active)).orElse(next);
            }
            failed(new IllegalStateException("schedule of " + next.edges() + " edges and " + next.slots()
                    + " data slots; expected " + active.edges() + " and " + active.slots()));
        } catch (RuntimeException | Error e) {
            failed(e);
        }
        return reserved.map(each -> each.applyTo(active, active)).orElse(active);
    }

    private void failed(Throwable error) {
        String reason = Reasons.of(error);
        long failures = statistics.failed(kind.title(), reason);
        if (Long.bitCount(failures) == 1) {
            listener.accept(Command.Notice.ofFailure(StarApp.ID, "scheduler_failed", "scheduler '" + kind.title()
                    + "' failed, previous schedule stays active (failure " + failures + "): " + reason));
        }
    }
}
