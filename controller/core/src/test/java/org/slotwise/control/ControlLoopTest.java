// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** The loop on a thread and a clock that a test moves. */
class ControlLoopTest {
    private static final DeviceId ONE = DeviceId.of(1);

    private final RecordingApp app = RecordingApp.of("app", 1, 2);
    private final List<String> log = new ArrayList<>();
    private final Deque<CompletableFuture<List<TableEntry>>> reads = new ArrayDeque<>();
    private final Deque<CompletableFuture<Void>> writes = new ArrayDeque<>();
    private final Deque<Runnable> retries = new ArrayDeque<>();
    private OptionalLong wakeNs = OptionalLong.empty();
    private Runnable wake;
    private final ControlLoop loop = new ControlLoop(new AppHost(List.of(app)), new Held(), new Manual(), Runnable::run, false,
            300, new Told());

    private final class Held implements Switches {
        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            reads.add(new CompletableFuture<>());
            return reads.peekLast();
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            writes.add(new CompletableFuture<>());
            return writes.peekLast();
        }

        @Override
        public void send(DeviceId device, int port, byte[] frame) {
            log.add("packet " + device + ":" + port);
        }
    }

    private final class Manual implements Clock {
        @Override
        public long nowNs() {
            return 7;
        }

        @Override
        public void wakeAt(OptionalLong deadlineNs, Runnable onDeadline) {
            wakeNs = deadlineNs;
            wake = onDeadline;
        }

        @Override
        public void retry(DeviceId device, long delayMs, Runnable task) {
            log.add("in " + delayMs + " ms");
            retries.add(task);
        }
    }

    private final class Told implements ControlLoop.Listener {
        @Override
        public void onNotice(Command.Notice notice) {
            log.add("notice");
        }

        @Override
        public void onConfigured() {
            log.add("configured");
        }

        @Override
        public void onFailure(Throwable defect) {
            log.add("failed");
        }
    }

    private Event last() {
        return app.events.get(app.events.size() - 1);
    }

    @Test
    void aSwitchIsReadAndWrittenAndItsAnswersAreEvents() {
        loop.read(ONE);
        app.onNext(event -> List.of(RecordingApp.write(1, 1, "t"), new Command.PacketOut(ONE, 3, new byte[1]),
                new RecordingApp.Told()));
        reads.remove().complete(List.of(RecordingApp.entry("t")));
        assertInstanceOf(Event.DeviceReady.class, last());
        assertEquals(List.of("packet 1:3", "notice", "configured"), log);
        writes.remove().complete(null);
        assertEquals(1, ((Event.WriteDone) last()).batch());
    }

    @Test
    void whatDoesNotWorkIsTriedAgainEverLaterUntilAWriteSucceeds() {
        loop.read(ONE);
        for (int i = 0; i < 3; i++) {
            reads.remove().completeExceptionally(new IllegalStateException("not now"));
            retries.remove().run();
        }
        assertEquals(List.of("in 100 ms", "in 200 ms", "in 300 ms"), log);
        app.onNext(event -> List.of(RecordingApp.write(1, 1, "t")));
        reads.remove().complete(List.of());
        writes.remove().complete(null);
        log.clear();
        app.onNext(event -> List.of(new Command.ReadTables(ONE)));
        loop.lost(ONE);
        assertEquals(List.of("in 100 ms"), log);
    }

    @Test
    void whatWasToBeTriedAgainIsVoidWhenTheSwitchIsLost() {
        loop.read(ONE);
        reads.remove().completeExceptionally(new IllegalStateException("not now"));
        loop.cut(ONE);
        loop.lost(ONE);
        assertInstanceOf(Event.DeviceLost.class, last());
        retries.remove().run();
        assertTrue(reads.isEmpty(), "a lost switch was read");
    }

    @Test
    void aRefusedBatchIsTold() {
        app.onNext(event -> List.of(RecordingApp.write(2, 9, "t")));
        loop.submit("app", new RecordingApp.Ask());
        writes.remove().completeExceptionally(new IllegalStateException("refused"));
        assertEquals(9, ((Event.WriteFailed) last()).batch());
    }

    @Test
    void theApplicationIsWokenWhenItWants() {
        app.deadlineNs = OptionalLong.of(7);
        loop.submit("app", new RecordingApp.Ask());
        assertEquals(OptionalLong.of(7), wakeNs);
        wake.run();
        assertInstanceOf(Event.DeadlineReached.class, last());
    }

    @Test
    void portsAndPacketsOfSwitchesOfNobodyAreNotHeard() {
        loop.packetIn(DeviceId.of(9), 1, new byte[0]);
        loop.portChanged(DeviceId.of(9), 1, false);
        assertEquals(List.of(), app.events);
        loop.packetIn(ONE, 1, new byte[0]);
        loop.portChanged(ONE, 1, false);
        assertEquals(2, app.events.size());
    }

    @Test
    void aDefectEndsTheLoopOnce() throws Exception {
        assertEquals(0, loop.view(app, 1000));
        app.onNext(event -> {
            throw new ArithmeticException("a defect");
        });
        loop.submit("app", new RecordingApp.Ask());
        loop.submit("app", new RecordingApp.Ask());
        assertEquals(List.of("failed"), log);
        assertEquals(1, app.events.size());
        assertThrows(IllegalStateException.class, () -> loop.view(app, 1000));
    }

    @Test
    void aDefectAtAnAnswerEndsTheLoopAlsoWhereAnswersComeOnTheThread() {
        ControlLoop inLockStep = new ControlLoop(new AppHost(List.of(app)), new Held(), new Manual(), Runnable::run, true, 300, new Told());
        inLockStep.read(ONE);
        app.onNext(event -> {
            throw new ArithmeticException("a defect");
        });
        reads.remove().complete(List.of());
        assertEquals(List.of("failed"), log);
        assertTrue(inLockStep.isClosed());
    }

    @Test
    void aQuestionThatFailsIsTheAskersAffair() throws Exception {
        assertThrows(IllegalStateException.class, () -> loop.ask(() -> {
            throw new IllegalArgumentException("no");
        }, 1000));
        assertEquals(0, loop.view(app, 1000));
    }
}
