// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.slotwise.control.Command;
import org.slotwise.systems.star.app.Statistics.Counter;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.systems.star.schedule.InvalidSettingsException;
import org.slotwise.systems.star.schedule.Kinds;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerKind;
import org.slotwise.systems.star.schedule.SchedulerProvider;
import org.slotwise.systems.star.schedule.SchedulerSettings;
import org.slotwise.systems.star.schedule.Schedulers;

/** Whatever goes wrong in a scheduler, the last schedule stays, and that is told. */
class FailingSchedulerTest {
    private final StarModel star = new StarModel(Networks.star(4, 20));

    /** One that does what a test says. */
    private static class Broken implements SchedulerProvider {
        private final String name;
        private final Supplier<Scheduler> scheduler;

        Broken(String name, Supplier<Scheduler> scheduler) {
            this.name = name;
            this.scheduler = scheduler;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String description() {
            return "Fails.";
        }

        @Override
        public Scheduler create(SchedulerSettings settings) {
            return scheduler.get();
        }
    }

    private static SchedulerChosen broken(Supplier<Scheduler> scheduler) throws InvalidSettingsException {
        return broken(new Broken("broken", scheduler));
    }

    private static SchedulerChosen broken(String name, String reason) throws InvalidSettingsException {
        return broken(new Broken(name, () -> (demand, current) -> {
            throw new Scheduler.FailedException(reason);
        }));
    }

    private static SchedulerChosen broken(Broken provider) throws InvalidSettingsException {
        SchedulerKind kind = Schedulers.ours().with(List.of(provider)).named(provider.name());
        return new SchedulerChosen(kind, kind.completeSettings(Map.of()));
    }

    private void checkStays(Scheduler scheduler, String reason) throws InvalidSettingsException {
        checkStays(() -> scheduler, reason);
    }

    private void checkStays(Supplier<Scheduler> scheduler, String reason) throws InvalidSettingsException {
        StarController controller = new StarController(star.network, Networks.scheduler(Kinds.FAIR), () -> 0);
        star.attach(controller);
        star.backlog[1][2] = 400_000;
        star.runFrames(12);
        int before = star.grantedSlots(1, 2);
        assertTrue(before > 0);
        star.deliver(broken(scheduler));
        star.backlog[1][2] = 0;
        star.backlog[2][1] = 400_000;
        star.runFrames(10);
        assertEquals(before, star.grantedSlots(1, 2));
        long failures = controller.snapshot().statistics().get(Counter.SCHEDULER_FAILURES);
        assertTrue(failures >= 8, "only " + failures + " failures");
        assertEquals(List.of(1, 2, 4, 8), star.failures.stream().map(FailingSchedulerTest::count).collect(Collectors.toList()));
        assertTrue(star.failures.get(0).toString().contains(reason), star.failures.get(0).toString());
        star.deliver(Networks.scheduler(Kinds.FAIR));
        star.runFrames(10);
        assertTrue(star.grantedSlots(2, 1) > star.grantedSlots(1, 2), "it goes on with another scheduler");
    }

    private static int count(Command.Notice failure) {
        return Integer.parseInt(failure.toString().replaceAll(".*\\(failure (\\d+)\\).*", "$1"));
    }

    /** Its first failure is told although others have failed before. */
    @Test
    void eachSchedulersFailuresAreCountedAndExplained() throws InvalidSettingsException {
        StarController controller = new StarController(star.network, broken("first", "one"), () -> 0);
        star.attach(controller);
        star.runFrames(12);
        long first = controller.snapshot().statistics().get(Counter.SCHEDULER_FAILURES);
        assertTrue(first >= 3, "only " + first + " failures");
        star.deliver(broken("second", "two"));
        star.runFrame();
        assertEquals("scheduler 'second' failed, previous schedule stays active (failure 1): two",
                star.failures.get(star.failures.size() - 1).toString());
        Map<String, Statistics.Failures> failures = controller.snapshot().statistics().schedulerFailures();
        assertEquals(List.of("first", "second"), List.copyOf(failures.keySet()));
        assertEquals(first, failures.get("first").count());
        assertEquals(first, failures.get("first").frames());
        assertEquals("one", failures.get("first").last());
        assertEquals(1, failures.get("second").count());
    }

    /** The first failure is the cause; later ones may be consequences. */
    @Test
    void theFirstFailureStaysBesideTheLast() throws InvalidSettingsException {
        AtomicInteger asked = new AtomicInteger();
        StarController controller = new StarController(star.network, broken(() -> (demand, current) -> {
            throw new Scheduler.FailedException(asked.incrementAndGet() == 1 ? "no such module" : "has ended");
        }), () -> 0);
        star.attach(controller);
        star.runFrames(12);
        Statistics.Failures failures = controller.snapshot().statistics().schedulerFailures().get("broken");
        assertEquals("no such module", failures.first());
        assertEquals("has ended", failures.last());
    }

    @Test
    void framesOfSchedulersThatNeverFailAreCountedToo() throws InvalidSettingsException {
        StarController controller = new StarController(star.network, broken("broken", "always"), () -> 0);
        star.attach(controller);
        star.runFrames(12);
        star.deliver(Networks.scheduler(Kinds.FAIR));
        star.runFrames(5);
        Statistics statistics = controller.snapshot().statistics();
        assertEquals(Set.of("broken"), statistics.schedulerFailures().keySet());
        assertEquals(List.of("broken", Kinds.FAIR.title()), List.copyOf(statistics.schedulerFrames().keySet()));
        long frames = statistics.schedulerFrames().values().stream().mapToLong(Long::longValue).sum();
        assertEquals(statistics.get(Counter.FRAMES_SCHEDULED), frames);
    }

    @Test
    void aSchedulerThatFailsNowAndThenIsCountedByItsFrames() throws InvalidSettingsException {
        AtomicInteger asked = new AtomicInteger();
        StarController controller = new StarController(star.network, broken(() -> (demand, current) -> {
            if (asked.incrementAndGet() == 2) {
                throw new Scheduler.FailedException("once");
            }
            return current;
        }), () -> 0);
        star.attach(controller);
        star.runFrames(12);
        Statistics.Failures failures = controller.snapshot().statistics().schedulerFailures().get("broken");
        assertEquals(1, failures.count());
        assertEquals(asked.get(), failures.frames());
        assertTrue(asked.get() > 2);
    }

    @Test
    void whatItThrows() throws InvalidSettingsException {
        checkStays((demand, current) -> {
            throw new Scheduler.FailedException("no idea");
        }, "no idea");
    }

    @Test
    void aClassThatIsNotThere() throws InvalidSettingsException {
        checkStays((demand, current) -> {
            throw new NoClassDefFoundError("org.example.Missing");
        }, "org.example.Missing");
    }

    @Test
    void anErrorWithALongAndOddMessage() throws InvalidSettingsException {
        checkStays((demand, current) -> {
            throw new AssertionError("a\u001b[2J\n" + "b".repeat(1_000_000));
        }, "AssertionError: a [2J b");
        assertTrue(star.failures.get(0).toString().length() <= 600);
    }

    @Test
    void anErrorThatCannotBeShown() throws InvalidSettingsException {
        class Unspeakable extends Error {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new IllegalStateException("again");
            }
        }
        checkStays((demand, current) -> {
            throw new Unspeakable();
        }, "Unspeakable");
    }

    @Test
    void whatItDoesToItsDemandIsItsOwnAffair() throws InvalidSettingsException {
        StarController controller = new StarController(star.network, broken(() -> (demand, current) -> {
            demand[1][2] = -7;
            demand[0] = null;
            return current;
        }), () -> 0);
        star.attach(controller);
        star.backlog[1][2] = 400_000;
        star.runFrames(12);
        assertTrue(controller.snapshot().demandSlots(1, 2) > 0);
        assertEquals(0, controller.snapshot().demandSlots(0, 1));
    }

    @Test
    void aScheduleOfAnotherSize() throws InvalidSettingsException {
        checkStays((demand, current) -> FrameSchedule.empty(5, 16), "5 edges and 16 data slots; expected 4 and 16");
    }

    @Test
    void noScheduleAtAll() throws InvalidSettingsException {
        checkStays((demand, current) -> null, "NullPointerException");
    }

    @Test
    void oneThatIsNotMade() throws InvalidSettingsException {
        checkStays((Supplier<Scheduler>) () -> null, "the provider returned no scheduler");
    }

    @Test
    void oneThatCannotBeMade() throws InvalidSettingsException {
        checkStays((Supplier<Scheduler>) () -> {
            throw new IllegalStateException("not today");
        }, "not today");
    }

    @Test
    void whoeverInterruptsTheThreadInterruptsNobodyElse() throws InvalidSettingsException {
        SchedulerChosen choice = broken(() -> {
            Thread.currentThread().interrupt();
            return (demand, current) -> {
                Thread.currentThread().interrupt();
                return current;
            };
        });
        Scheduler scheduler = choice.kind().create(choice.settings());
        assertFalse(Thread.currentThread().isInterrupted());
        FrameSchedule current = FrameSchedule.empty(2, 1);
        assertEquals(current, scheduler.schedule(new int[2][2], current));
        assertFalse(Thread.currentThread().isInterrupted());
        Thread.currentThread().interrupt();
        scheduler.schedule(new int[2][2], current);
        assertTrue(Thread.interrupted(), "it was before");
    }

    /** Asked once, where it is known to be somebody's code, and not at each start. */
    @Test
    void whoCannotSayWhereItRunsIsRefusedWhenItIsFound() {
        SchedulerProvider unsure = new Broken("broken", () -> null) {
            @Override
            public boolean runsElsewhere() {
                throw new IllegalStateException("who knows");
            }
        };
        assertThrows(IllegalStateException.class, () -> Schedulers.ours().with(List.of(unsure)));
    }
}
