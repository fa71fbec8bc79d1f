// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;

/**
 * Runs an {@link AppHost}: tells it what happens and does what it wants, on one thread, with one batch in flight a switch
 * ({@link DeviceWrites}). What time is ({@link Clock}) and how switches are reached ({@link Switches}) are adapters, which call the
 * methods below "on the thread".
 */
public final class ControlLoop {
    private final AppHost host;
    private final Switches switches;
    private final Clock clock;
    private final Executor thread;
    private final Listener listener;
    private final DeviceWrites tables;
    private final Map<DeviceId, Line> lines = new HashMap<>();
    private volatile boolean closed;
    private boolean configured;

    /** Whom the loop tells, on its thread. */
    public interface Listener {
        /** An application has something to tell. */
        void onNotice(Command.Notice notice);

        /** All applications are configured, for the first time. */
        default void onConfigured() {
        }

        /** A defect: nothing happens any more, and the switches stay as they are. */
        void onFailure(Throwable defect);
    }

    /** When what did not work with a switch is tried again; what was to be tried in an older generation is void. */
    private static final class Line {
        private long generation;
        private final Backoff backoff;

        private Line(long lastRetryMs) {
            this.backoff = Backoff.ofMs(() -> lastRetryMs);
        }
    }

    /**
     * Takes applications that nobody else drives.
     *
     * @param thread runs everything, one task after the other; not ended by this
     * @param answersOnThread whether futures of the switches complete on the thread, as in lock step, and not on any
     * @param lastRetryMs longest wait before something is tried again with a switch
     */
    public ControlLoop(AppHost host, Switches switches, Clock clock, Executor thread, boolean answersOnThread,
            long lastRetryMs, Listener listener) {
        this.host = Objects.requireNonNull(host);
        this.switches = Objects.requireNonNull(switches);
        this.clock = Objects.requireNonNull(clock);
        this.thread = Objects.requireNonNull(thread);
        this.listener = Objects.requireNonNull(listener);
        this.tables = new DeviceWrites(switches, answersOnThread ? this::guarded : this::execute, new Answers());
        for (Node node : host.topology().nodes()) {
            lines.put(node.device(), new Line(lastRetryMs));
        }
    }

    // ---- from any thread ----

    /** Begins: where no application has switches, all are configured from the start. */
    public void begin() {
        execute(() -> carryOut(List.of()));
    }

    /** Runs a task on the thread, unless the loop has ended; an exception that gets out of it is a defect. */
    public void execute(Runnable task) {
        try {
            thread.execute(() -> guarded(task));
        } catch (RejectedExecutionException ended) {
            closed = true;
        }
    }

    /** Gives an application an order, and waits until that has taken it; throws as {@link #view} does. */
    public void order(String app, Event.Order order, long timeoutMs) throws InterruptedException, TimeoutException {
        ask(() -> {
            guarded(() -> carryOut(host.onOrder(clock.nowNs(), app, order)));
            if (closed) {
                throw new IllegalStateException("the controller has stopped");
            }
            return null;
        }, timeoutMs);
    }

    /** Gives an application an order. */
    public void submit(String app, Event.Order order) {
        execute(() -> carryOut(host.onOrder(clock.nowNs(), app, order)));
    }

    /**
     * What an application shows of itself, between two events. Throws IllegalStateException if the loop has ended or the
     * application fails.
     */
    public <V> V view(App<V> app, long timeoutMs) throws InterruptedException, TimeoutException {
        return ask(app::view, timeoutMs);
    }

    /** Calls {@code question} between two events; throws as {@link #view} does. */
    public <T> T ask(Callable<T> question, long timeoutMs) throws InterruptedException, TimeoutException {
        CompletableFuture<T> answer = new CompletableFuture<>();
        try {
            thread.execute(() -> {
                try {
                    if (closed) {
                        throw new IllegalStateException("the controller has stopped");
                    }
                    answer.complete(question.call());
                } catch (Exception | Error e) {
                    answer.completeExceptionally(e);
                }
            });
            return answer.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the controller failed to answer", e.getCause());
        } catch (RejectedExecutionException e) {
            throw new IllegalStateException("the controller has stopped", e);
        }
    }

    /** Lets the switches be: nothing more is begun from now on. */
    public void close() {
        closed = true;
    }

    /** Whether it has ended, by a defect or from outside. */
    public boolean isClosed() {
        return closed;
    }

    // ---- on the thread ----

    /** Runs a task; an exception that gets out of it is a defect, which ends the loop. */
    public void guarded(Runnable task) {
        if (closed) {
            return;
        }
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            closed = true;
            listener.onFailure(e);
        }
    }

    /** The applications. */
    public AppHost host() {
        return host;
    }

    /** Whether a switch is in the network of an application. */
    public boolean knows(DeviceId device) {
        return lines.containsKey(device);
    }

    /** A switch has come: it is read, and what does not work with it then is tried again soon at first. */
    public void found(DeviceId device) {
        line(device).backoff.reset();
        read(device);
    }

    /** Reads a switch that can be used now; applications hear of it with what it has. */
    public void read(DeviceId device) {
        line(device).generation++;
        tables.read(device);
    }

    /** What is under way to a switch is void; {@link #lost} says so to applications, now or when its time has come. */
    public void cut(DeviceId device) {
        line(device).generation++;
        tables.lose(device);
    }

    /** Tells applications that a switch is lost. */
    public void lost(DeviceId device) {
        deliver(new Event.DeviceLost(device));
    }

    /** Tells an application of a packet; of a switch that is in no network, nothing. */
    public void packetIn(DeviceId device, int port, byte[] frame) {
        if (knows(device)) {
            deliver(new Event.PacketIn(device, port, frame));
        }
    }

    /** Tells applications that a port has lost its light, or has it again; of a switch that is in no network, nothing. */
    public void portChanged(DeviceId device, int port, boolean up) {
        if (knows(device)) {
            deliver(new Event.PortChanged(device, port, up));
        }
    }

    /** The time has come that was asked for. */
    public void deadlineReached() {
        deliver(new Event.DeadlineReached());
    }

    /**
     * Reads a switch again after a while, or calls one again that was lost: longer each time until a write succeeds, and not if it is
     * lost or read before.
     */
    public void retry(DeviceId device, Runnable task) {
        Line line = line(device);
        long generation = ++line.generation;
        clock.retry(device, line.backoff.afterFailure(), () -> {
            if (line.generation == generation) {
                guarded(task);
            }
        });
    }

    private Line line(DeviceId device) {
        return lines.get(device);
    }

    private void deliver(Event event) {
        carryOut(host.onEvent(clock.nowNs(), event));
    }

    /** Packets first: a batch may be answered at once, and lead to more. */
    private void carryOut(List<Command> commands) {
        for (Command command : commands) {
            if (command instanceof Command.PacketOut) {
                Command.PacketOut packet = (Command.PacketOut) command;
                switches.send(packet.device(), packet.port(), packet.frame());
            } else if (command instanceof Command.ReadTables) {
                DeviceId device = ((Command.ReadTables) command).device();
                retry(device, () -> tables.read(device));
            } else if (command instanceof Command.Notice) {
                listener.onNotice((Command.Notice) command);
            }
        }
        for (Command command : commands) {
            if (command instanceof Command.Write) {
                tables.write((Command.Write) command);
            }
        }
        clock.wakeAt(host.nextDeadlineNs(), () -> guarded(this::deadlineReached));
        if (!configured && host.isConfigured()) {
            configured = true;
            listener.onConfigured();
        }
    }

    /** What the switches answer. */
    private final class Answers implements DeviceWrites.Listener {
        @Override
        public void onRead(DeviceId device, List<TableEntry> entries) {
            switches.onRead(device, entries.size());
            deliver(new Event.DeviceReady(device, entries));
        }

        @Override
        public void onReadFailed(DeviceId device, Throwable error) {
            if (switches.onReadFailed(device, error)) {
                retry(device, () -> tables.read(device));
            }
        }

        @Override
        public void onWritten(Command.Write write) {
            line(write.device()).backoff.reset();
            switches.onWritten(write.device());
            deliver(new Event.WriteDone(write.device(), write.batch()));
        }

        @Override
        public void onWriteFailed(Command.Write write, Throwable error) {
            switches.onWriteFailed(write, error);
            deliver(new Event.WriteFailed(write.device(), write.batch()));
        }
    }
}
