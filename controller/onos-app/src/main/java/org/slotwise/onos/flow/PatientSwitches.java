// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.onosproject.store.service.StorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.Backoff;
import org.slotwise.control.Command;
import org.slotwise.control.Switches;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/**
 * Says in the log what does not work with switches, and tries a write again that the cluster does not let through: it has reached no
 * switch yet, and as a failed one it would make the controller take light away.
 */
public final class PatientSwitches implements Switches {
    private static final Logger LOG = LoggerFactory.getLogger(PatientSwitches.class);

    private final Switches switches;
    private final Later later;
    private final Predicate<DeviceId> isConnected;
    private final long lastRetryMs;

    /** Does something after a while. */
    public interface Later {
        /** Runs a task after so many ms. */
        void run(Runnable task, long delayMs);
    }

    /** Takes the switches, a timer, whether it is worth while to go on with a switch, and the longest wait. */
    public PatientSwitches(Switches switches, Later later, Predicate<DeviceId> isConnected, long lastRetryMs) {
        this.switches = switches;
        this.later = later;
        this.isConnected = isConnected;
        this.lastRetryMs = lastRetryMs;
    }

    @Override
    public CompletableFuture<List<TableEntry>> read(DeviceId device) {
        return switches.read(device);
    }

    @Override
    public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        write(device, updates, done, Backoff.ofMs(() -> lastRetryMs));
        return done;
    }

    private void write(DeviceId device, List<Update> updates, CompletableFuture<Void> done, Backoff backoff) {
        begin(() -> switches.write(device, updates)).whenComplete((written, error) -> {
            Throwable cause = error instanceof CompletionException ? error.getCause() : error;
            if (error == null) {
                done.complete(null);
            } else if (cause instanceof StorageException && isConnected.test(device)) {
                long delayMs = backoff.afterFailure();
                LOG.warn("device {}: write failed: retry in {} ms: {}", device, delayMs, reason(cause));
                later.run(() -> write(device, updates, done, backoff), delayMs);
            } else {
                done.completeExceptionally(cause);
            }
        });
    }

    private static CompletableFuture<Void> begin(Supplier<CompletableFuture<Void>> write) {
        try {
            return write.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** A packet that ONOS does not take is lost like any other. */
    @Override
    public void send(DeviceId device, int port, byte[] frame) {
        try {
            switches.send(device, port, frame);
        } catch (RuntimeException e) {
            LOG.warn("device {}: packet not sent: {}", device, reason(e));
        }
    }

    @Override
    public void onRead(DeviceId device, int entries) {
        LOG.info("device {}: ready, {} table entries", device, entries);
    }

    @Override
    public boolean onReadFailed(DeviceId device, Throwable error) {
        LOG.warn("device {}: read failed: {}", device, reason(error));
        return true;
    }

    @Override
    public void onWriteFailed(Command.Write write, Throwable error) {
        LOG.error("device {}: write failed: {}", write.device(), reason(error));
    }

    private static String reason(Throwable error) {
        return Objects.toString(error.getMessage(), error.toString());
    }
}
