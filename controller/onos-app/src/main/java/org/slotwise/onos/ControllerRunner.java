// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.ControlLoop;
import org.slotwise.control.Event;
import org.slotwise.control.WallClock;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.onos.flow.OnosSwitches;
import org.slotwise.onos.flow.PatientSwitches;

/** Drives applications with the switches that ONOS has, all on one thread. Any thread may call any method. */
final class ControllerRunner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControllerRunner.class);

    private final AppHost host;
    private final OnosSwitches switches;
    private final ScheduledExecutorService thread;
    private final ControlLoop loop;
    private final Set<DeviceId> connected = ConcurrentHashMap.newKeySet();

    /**
     * Takes applications that nobody else drives.
     *
     * @param thread runs everything; not ended by this
     * @param clockNs ns of a clock that never goes back
     * @param lastRetryMs longest wait before a switch is read again that could not be
     * @param listener told of what concerns others
     */
    ControllerRunner(AppHost host, OnosSwitches switches, ScheduledExecutorService thread, LongSupplier clockNs,
            long lastRetryMs, ControlLoop.Listener listener) {
        this.host = host;
        this.switches = switches;
        this.thread = thread;
        PatientSwitches patient = new PatientSwitches(switches, this::later, this::isWorthWhile, lastRetryMs);
        this.loop = new ControlLoop(
                host, patient, new WallClock(thread, clockNs), thread, false, lastRetryMs, listener);
    }

    /** Takes up all switches that are there. */
    void start() {
        host.topology().nodes().stream().map(Node::device).forEach(this::check);
    }

    /** Looks whether a switch has come or gone. */
    void check(DeviceId device) {
        loop.execute(() -> checkNow(device));
    }

    /** Takes a packet from a switch; of a switch of another network, nothing. */
    void packetIn(DeviceId device, int port, byte[] frame) {
        loop.execute(() -> loop.packetIn(device, port, frame));
    }

    /** Takes that a port of a switch has lost its light, or has it again. */
    void portChanged(DeviceId device, int port, boolean up) {
        loop.execute(() -> loop.portChanged(device, port, up));
    }

    /** Gives an application an order. */
    void submit(String app, Event.Order order) {
        loop.submit(app, order);
    }

    /** What an application shows between two events; IllegalStateException if it has ended. */
    <V> V view(App<V> app, long timeoutMs) throws InterruptedException, TimeoutException {
        return loop.view(app, timeoutMs);
    }

    /** Lets the switches be: nothing more is begun from now on. */
    @Override
    public void close() {
        loop.close();
    }

    // ---- on the thread ----

    private void checkNow(DeviceId device) {
        if (!loop.knows(device)) {
            return;
        }
        boolean available;
        try {
            available = switches.isAvailable(device);
        } catch (RuntimeException e) {
            LOG.warn("device {}: ONOS does not say whether it is there: {}", device, e.toString());
            loop.retry(device, () -> checkNow(device));
            return;
        }
        if (available && connected.add(device)) {
            loop.read(device);
        } else if (!available && connected.remove(device)) {
            LOG.warn("device {}: lost", device);
            loop.cut(device);
            loop.lost(device);
        }
    }

    private boolean isWorthWhile(DeviceId device) {
        return connected.contains(device) && !loop.isClosed();
    }

    private void later(Runnable task, long delayMs) {
        try {
            thread.schedule(() -> loop.guarded(task), delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has ended", e);
        }
    }
}
