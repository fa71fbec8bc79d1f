// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
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
    private final Consumer<Command.ScheduleInForce> listener;
    private final Map<DeviceId, Session> sessions = new HashMap<>();
    private final DeviceWrites tables;
    private boolean closed;
    private OptionalLong wakeNs = OptionalLong.empty();
    private ScheduledFuture<?> wake;

    /** What is known of the connection to one switch; what was to be tried again in an older generation is void. */
    private static final class Session {
        private long generation;
        private long retryMs = FIRST_RETRY_MS;
        private boolean connected;
    }

    /**
     * Takes a controller that nobody else uses, and its network.
     *
     * @param thread runs everything; not ended by this
     * @param clockNs ns of a clock that never goes back
     * @param lastRetryMs longest wait before a switch is read again that could not be
     * @param listener told of each schedule that comes into force
     */
    ControllerRunner(NetworkController controller, Network network, Switches switches, ScheduledExecutorService thread,
            LongSupplier clockNs, long lastRetryMs, Consumer<Command.ScheduleInForce> listener) {
        this.controller = controller;
        this.switches = switches;
        this.thread = thread;
        this.clockNs = clockNs;
        this.lastRetryMs = lastRetryMs;
        this.listener = listener;
        this.tables = new DeviceWrites(switches, this::onThread, new Answers());
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
        Callable<Snapshot> question = controller::snapshot;
        try {
            return thread.submit(question).get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the controller could not answer", e.getCause());
        } catch (RejectedExecutionException e) {
            throw new IllegalStateException("the controller has ended", e);
        }
    }

    /** Lets the switches be: nothing more is written or sent. */
    @Override
    public void close() {
        onThread(() -> {
            closed = true;
            cancelWake();
        });
    }

    // ---- on the thread ----

    private void onThread(Runnable task) {
        try {
            thread.execute(() -> guarded(task));
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has ended", e);
        }
    }

    /** An exception that gets here is a defect: the switches stay as they are, and the log says why. */
    private void guarded(Runnable task) {
        if (closed) {
            return;
        }
        try {
            task.run();
        } catch (RuntimeException e) {
            LOG.error("the controller cannot go on", e);
            closed = true;
            cancelWake();
        }
    }

    private void checkNow(DeviceId device) {
        Session session = sessions.get(device);
        if (session == null) {
            return;
        }
        boolean available = switches.isAvailable(device);
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
        long generation = ++session.generation;
        long delayMs = session.retryMs;
        session.retryMs = Math.min(lastRetryMs, 2 * delayMs);
        thread.schedule(() -> guarded(() -> {
            if (session.generation == generation) {
                tables.read(device);
            }
        }), delayMs, TimeUnit.MILLISECONDS);
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
                Command.PacketOut packet = (Command.PacketOut) command;
                switches.send(packet.device(), packet.port(), packet.frame());
            } else if (command instanceof Command.ReadTables) {
                DeviceId device = ((Command.ReadTables) command).device();
                retry(device, sessions.get(device));
            } else if (command instanceof Command.ScheduleInForce) {
                listener.accept((Command.ScheduleInForce) command);
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
