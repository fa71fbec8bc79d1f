// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.onosproject.store.service.StorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.DeviceWrites;
import org.slotwise.core.Command;
import org.slotwise.core.Event;
import org.slotwise.core.NetworkController;
import org.slotwise.core.Snapshot;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Network;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;
import org.slotwise.onos.flow.Switches;

/**
 * Drives one {@link NetworkController}: tells it what happens and does what it answers, all on one thread. Any thread may
 * call any method.
 */
final class ControllerRunner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControllerRunner.class);
    private static final long FIRST_RETRY_MS = 100;

    private final NetworkController controller;
    private final Switches switches;
    private final ScheduledExecutorService thread;
    private final LongSupplier clockNs;
    private final long lastRetryMs;
    private final Listener listener;
    private final Map<DeviceId, Session> sessions = new HashMap<>();
    private final DeviceWrites tables;
    private volatile boolean closed;
    private OptionalLong wakeNs = OptionalLong.empty();
    private ScheduledFuture<?> wake;

    /** Whom the runner tells, on its thread. */
    interface Listener {
        /** A schedule came into force. */
        void onSchedule(Command.ScheduleInForce inForce);

        /** A defect: this controller has ended, and the switches are as it left them. */
        void onFailure(RuntimeException defect);
    }

    /** What is known of the connection to one switch; what was to be tried again in an older generation is void. */
    private static final class Session {
        private long generation;
        private long retryMs = FIRST_RETRY_MS;
        private volatile boolean connected;
    }

    /**
     * Takes a controller that nobody else uses, and its network.
     *
     * @param thread runs everything; not ended by this
     * @param clockNs ns of a clock that never goes back
     * @param lastRetryMs longest wait before a switch is read again that could not be
     * @param listener told of what concerns others
     */
    ControllerRunner(NetworkController controller, Network network, Switches switches, ScheduledExecutorService thread,
            LongSupplier clockNs, long lastRetryMs, Listener listener) {
        this.controller = controller;
        this.switches = switches;
        this.thread = thread;
        this.clockNs = clockNs;
        this.lastRetryMs = lastRetryMs;
        this.listener = listener;
        this.tables = new DeviceWrites(new PatientTables(), this::onThread, new Answers());
        network.devices().forEach(device -> sessions.put(device, new Session()));
    }

    /** Takes up all switches that are there. */
    void start() {
        onThread(() -> sessions.keySet().forEach(this::checkNow));
    }

    /** Looks whether a switch has come or gone. */
    void check(DeviceId device) {
        onThread(() -> checkNow(device));
    }

    /** Takes a packet from a switch; of a switch of another network, nothing. */
    void packetIn(DeviceId device, int port, byte[] frame) {
        onThread(() -> {
            if (sessions.containsKey(device)) {
                deliver(new Event.PacketIn(device, port, frame));
            }
        });
    }

    /** Takes an event from outside the switches. */
    void submit(Event event) {
        onThread(() -> deliver(event));
    }

    /** The controller's state between two events; IllegalStateException if it has ended. */
    Snapshot snapshot(long timeoutMs) throws InterruptedException, TimeoutException {
        Callable<Snapshot> question = () -> {
            if (closed) {
                throw new IllegalStateException("the controller has ended");
            }
            return controller.snapshot();
        };
        try {
            return thread.submit(question).get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the controller could not answer", e.getCause());
        } catch (RejectedExecutionException e) {
            throw new IllegalStateException("the controller has ended", e);
        }
    }

    /** Lets the switches be: nothing more is begun from now on. */
    @Override
    public void close() {
        closed = true;
        try {
            thread.execute(this::cancelWake);
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has ended", e);
        }
    }

    // ---- on the thread ----

    private void onThread(Runnable task) {
        try {
            thread.execute(() -> guarded(task));
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has ended", e);
        }
    }

    /** An exception that gets here is a defect: the switches stay as they are, and another controller must take over. */
    private void guarded(Runnable task) {
        if (closed) {
            return;
        }
        try {
            task.run();
        } catch (RuntimeException e) {
            closed = true;
            cancelWake();
            listener.onFailure(e);
        }
    }

    private void checkNow(DeviceId device) {
        Session session = sessions.get(device);
        if (session == null) {
            return;
        }
        boolean available;
        try {
            available = switches.isAvailable(device);
        } catch (RuntimeException e) {
            LOG.warn("device {}: ONOS does not say whether it is there: {}", device, reason(e));
            later(session, () -> checkNow(device));
            return;
        }
        if (available && !session.connected) {
            session.connected = true;
            session.retryMs = FIRST_RETRY_MS;
            session.generation++;
            tables.read(device);
        } else if (!available && session.connected) {
            session.connected = false;
            session.generation++;
            tables.lose(device);
            LOG.warn("device {}: lost", device);
            deliver(new Event.DeviceLost(device));
        }
    }

    private void retry(DeviceId device, Session session) {
        later(session, () -> tables.read(device));
    }

    private void later(Session session, Runnable task) {
        long generation = ++session.generation;
        long delayMs = session.retryMs;
        session.retryMs = Math.min(lastRetryMs, 2 * delayMs);
        later(() -> {
            if (session.generation == generation) {
                task.run();
            }
        }, delayMs);
    }

    private void later(Runnable task, long delayMs) {
        try {
            thread.schedule(() -> guarded(task), delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has ended", e);
        }
    }

    /** A packet that ONOS does not take is lost like any other. */
    private void send(Command.PacketOut packet) {
        try {
            switches.send(packet.device(), packet.port(), packet.frame());
        } catch (RuntimeException e) {
            LOG.warn("device {}: a packet was not sent: {}", packet.device(), reason(e));
        }
    }

    /**
     * A write that the cluster does not let through has reached no switch yet, so it is tried again as it is: as a failed one it
     * would make the controller take light away.
     */
    private final class PatientTables implements DeviceWrites.Tables {
        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            return switches.read(device);
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            write(device, updates, done, FIRST_RETRY_MS);
            return done;
        }

        private void write(DeviceId device, List<Update> updates, CompletableFuture<Void> done, long nextRetryMs) {
            begin(() -> switches.write(device, updates)).whenComplete((written, error) -> {
                Throwable cause = error instanceof CompletionException ? error.getCause() : error;
                if (error == null) {
                    done.complete(null);
                } else if (cause instanceof StorageException && sessions.get(device).connected && !closed) {
                    LOG.warn("device {}: written again in {} ms: {}", device, nextRetryMs, reason(cause));
                    later(() -> write(device, updates, done, Math.min(lastRetryMs, 2 * nextRetryMs)), nextRetryMs);
                } else {
                    done.completeExceptionally(cause);
                }
            });
        }

        private CompletableFuture<Void> begin(Supplier<CompletableFuture<Void>> write) {
            try {
                return write.get();
            } catch (RuntimeException e) {
                return CompletableFuture.failedFuture(e);
            }
        }
    }

    /** What the switches answer. */
    private final class Answers implements DeviceWrites.Listener {
        @Override
        public void onRead(DeviceId device, List<TableEntry> entries) {
            LOG.info("device {}: ready, {} table entries", device, entries.size());
            deliver(new Event.DeviceReady(device, entries));
        }

        @Override
        public void onReadFailed(DeviceId device, Throwable error) {
            LOG.warn("device {}: not read: {}", device, reason(error));
            retry(device, sessions.get(device));
        }

        @Override
        public void onWritten(Command.Write write) {
            sessions.get(write.device()).retryMs = FIRST_RETRY_MS;
            deliver(new Event.WriteDone(write.device(), write.batch()));
        }

        @Override
        public void onWriteFailed(Command.Write write, Throwable error) {
            LOG.error("device {}: write failed: {}", write.device(), reason(error));
            deliver(new Event.WriteFailed(write.device(), write.batch()));
        }
    }

    private static String reason(Throwable error) {
        return Objects.toString(error.getMessage(), error.toString());
    }

    private void deliver(Event event) {
        for (Command command : controller.onEvent(clockNs.getAsLong(), event)) {
            if (command instanceof Command.Write) {
                tables.write((Command.Write) command);
            } else if (command instanceof Command.PacketOut) {
                send((Command.PacketOut) command);
            } else if (command instanceof Command.ReadTables) {
                DeviceId device = ((Command.ReadTables) command).device();
                retry(device, sessions.get(device));
            } else if (command instanceof Command.ScheduleInForce) {
                listener.onSchedule((Command.ScheduleInForce) command);
            }
        }
        setWake();
    }

    private void setWake() {
        OptionalLong deadlineNs = controller.nextDeadlineNs();
        if (deadlineNs.equals(wakeNs)) {
            return;
        }
        cancelWake();
        wakeNs = deadlineNs;
        if (deadlineNs.isPresent()) {
            long delayNs = Math.max(0, deadlineNs.getAsLong() - clockNs.getAsLong());
            wake = thread.schedule(() -> guarded(this::onDeadline), delayNs, TimeUnit.NANOSECONDS);
        }
    }

    private void cancelWake() {
        if (wake != null) {
            wake.cancel(false);
            wake = null;
        }
    }

    private void onDeadline() {
        wake = null;
        wakeNs = OptionalLong.empty();
        deliver(new Event.DeadlineReached());
    }
}
