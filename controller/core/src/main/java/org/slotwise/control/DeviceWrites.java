// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/**
 * The order in which one controller reads and writes its switches: a switch has one batch in flight, a read waits until
 * that is answered, and batches wait for a read. So what was read is what the switch has when the controller hears of it:
 * no batch is under way then, and those that still waited are dropped, since the controller forgets them with the news.
 *
 * <p>Without that, a read asked for by one star could overtake the batch of another: its mirror of the tables would be
 * stale, and the next schedule that is written by it would let light collide.
 *
 * <p>One thread at a time may call it; futures of {@link Tables} may complete on any.
 */
public final class DeviceWrites {
    private final Tables tables;
    private final Executor thread;
    private final Listener listener;
    private final Map<DeviceId, Line> lines = new TreeMap<>();

    /** The tables of the switches. What a method throws counts as its future's failure. */
    public interface Tables {
        /** All entries of a switch's tables. */
        CompletableFuture<List<TableEntry>> read(DeviceId device);

        /**
         * Changes entries. Completes when it is certain that the switch has done all of it, or will do no more of it: a
         * batch whose answer is missing must be kept from a switch before this fails.
         */
        CompletableFuture<Void> write(DeviceId device, List<Update> updates);
    }

    /** What came of it, on the controller's thread. */
    public interface Listener {
        /** A switch has these entries, and no batch is under way to it. */
        void onRead(DeviceId device, List<TableEntry> entries);

        /** A switch could not be read. */
        void onReadFailed(DeviceId device, Throwable error);

        /** A switch has done all of a batch. */
        void onWritten(Command.Write write);

        /** A switch has refused a batch, or part of it, or did not answer. */
        void onWriteFailed(Command.Write write, Throwable error);
    }

    /** One switch. */
    private static final class Line {
        private final Deque<Command.Write> waiting = new ArrayDeque<>();
        private boolean writing;
        private boolean reading;
        private boolean readWanted;
        /** Counts losses: a read that began before one is void. */
        private int generation;
    }

    /** Takes the switches, the controller's thread, and who is told. */
    public DeviceWrites(Tables tables, Executor thread, Listener listener) {
        this.tables = Objects.requireNonNull(tables);
        this.thread = Objects.requireNonNull(thread);
        this.listener = Objects.requireNonNull(listener);
    }

    /** Writes a batch when those before it have been answered. */
    public void write(Command.Write write) {
        line(write.device()).waiting.add(write);
        goOn(write.device());
    }

    /** Reads a switch when the batch in flight has been answered. */
    public void read(DeviceId device) {
        line(device).readWanted = true;
        goOn(device);
    }

    /**
     * A switch was lost: what waits is dropped, and a read under way is void. That and the batch in flight are still waited
     * for: a read of {@link Tables} may change what its owner knows of the switch, and must not do so beside another one.
     */
    public void lose(DeviceId device) {
        Line line = line(device);
        line.waiting.clear();
        line.readWanted = false;
        line.generation++;
    }

    private Line line(DeviceId device) {
        return lines.computeIfAbsent(device, any -> new Line());
    }

    private void goOn(DeviceId device) {
        Line line = line(device);
        if (line.writing || line.reading) {
            return;
        }
        if (line.readWanted) {
            line.readWanted = false;
            line.reading = true;
            int generation = line.generation;
            start(() -> tables.read(device), entries -> {
                line.reading = false;
                if (line.generation == generation) {
                    line.waiting.clear();
                    listener.onRead(device, entries);
                }
                goOn(device);
            }, error -> {
                line.reading = false;
                if (line.generation == generation) {
                    listener.onReadFailed(device, error);
                }
                goOn(device);
            });
        } else if (!line.waiting.isEmpty()) {
            Command.Write write = line.waiting.remove();
            line.writing = true;
            start(() -> tables.write(device, write.updates()), done -> {
                line.writing = false;
                listener.onWritten(write);
                goOn(device);
            }, error -> {
                line.writing = false;
                listener.onWriteFailed(write, error);
                goOn(device);
            });
        }
    }

    /** Begins something; a service that cannot even begin it has failed like one that cannot do it. */
    private interface Begin<T> {
        CompletableFuture<T> begin();
    }

    private <T> void start(Begin<T> begin, Consumer<T> onDone, Consumer<Throwable> onFailed) {
        CompletableFuture<T> answer;
        try {
            answer = begin.begin();
        } catch (RuntimeException e) {
            answer = CompletableFuture.failedFuture(e);
        }
        answer.whenComplete((result, error) -> thread.execute(() -> {
            if (error == null) {
                onDone.accept(result);
            } else {
                onFailed.accept(error instanceof CompletionException && error.getCause() != null
                        ? error.getCause() : error);
            }
        }));
    }
}
