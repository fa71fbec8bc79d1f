// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.slotwise.control.Command;
import org.slotwise.control.DeviceWrites;
import org.slotwise.control.Event;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.systems.star.model.Network;

/**
 * Overlaid stars whose switches take their time: what was begun is carried out, and answered, in any order that a seed
 * gives, and some batches are refused.
 */
final class SlowTwins extends TwinModel {
    private final Random random;
    private final Tables switches = new Tables();
    private final Answers answers = new Answers();
    private final DeviceWrites lines = new DeviceWrites(switches, Runnable::run, answers);
    private final boolean ordered;
    /** What the switches do next: to carry something out, or to answer. */
    private final List<Runnable> steps = new ArrayList<>();
    /** Of a hundred batches. */
    int refused;

    /** With {@code ordered} false reads and writes go to the switches as they come, which is what must not be. */
    SlowTwins(Network network, SchedulerChosen scheduler, long seed, boolean ordered) {
        super(network, scheduler);
        this.random = new Random(seed);
        this.ordered = ordered;
    }

    /** So many steps of the switches, or as many as there are. */
    void advance(int atMost) {
        for (int i = 0; i < atMost && !steps.isEmpty(); i++) {
            steps.remove(random.nextInt(steps.size())).run();
        }
    }

    @Override
    void write(Command.Write write) {
        if (ordered) {
            lines.write(write);
        } else {
            switches.write(write.device(), write.updates()).whenComplete((done, error) -> {
                if (error == null) {
                    answers.onWritten(write);
                } else {
                    answers.onWriteFailed(write, error);
                }
            });
        }
    }

    @Override
    void read(DeviceId device) {
        if (ordered) {
            lines.read(device);
        } else {
            switches.read(device).thenAccept(entries -> answers.onRead(device, entries));
        }
    }

    private final class Tables implements DeviceWrites.Tables {
        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            CompletableFuture<List<TableEntry>> answer = new CompletableFuture<>();
            steps.add(() -> {
                List<TableEntry> entries = tables.entries(device);
                steps.add(() -> answer.complete(entries));
            });
            return answer;
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            CompletableFuture<Void> answer = new CompletableFuture<>();
            boolean refuse = random.nextInt(100) < refused;
            steps.add(() -> {
                if (refuse) {
                    steps.add(() -> answer.completeExceptionally(new IllegalStateException("refused")));
                } else {
                    apply(device, updates);
                    steps.add(() -> answer.complete(null));
                }
            });
            return answer;
        }
    }

    private final class Answers implements DeviceWrites.Listener {
        @Override
        public void onRead(DeviceId device, List<TableEntry> entries) {
            deliver(new Event.DeviceReady(device, entries));
        }

        @Override
        public void onReadFailed(DeviceId device, Throwable error) {
            throw new AssertionError(error);
        }

        @Override
        public void onWritten(Command.Write write) {
            deliver(new Event.WriteDone(write.device(), write.batch()));
        }

        @Override
        public void onWriteFailed(Command.Write write, Throwable error) {
            deliver(new Event.WriteFailed(write.device(), write.batch()));
        }
    }
}
