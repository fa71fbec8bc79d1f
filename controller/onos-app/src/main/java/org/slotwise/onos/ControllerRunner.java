// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.Backoff;
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
    /** Packets from switches that wait for the thread: what is older than the rest of these is of no use to any protocol. */
    static final int MOST_WAITING = 512;

    private final AppHost host;
    private final OnosSwitches switches;
    private final ScheduledExecutorService thread;
    private final ControlLoop loop;
    private final Set<DeviceId> connected = ConcurrentHashMap.newKeySet();
    /** Whether each port of a switch had light when that was looked at last; one that has gone has none. On the thread. */
    private final Map<DeviceId, Map<Integer, Boolean>> light = new HashMap<>();
    /** Switches that are looked at again, since ONOS did not say what they are, and after how long the next time. On the thread. */
    private final Map<DeviceId, Backoff> unsure = new HashMap<>();
    private final Set<DeviceId> lookedAtAgain = new HashSet<>();
    private final long lastRetryMs;
    /** Packets that wait for the thread, and those that did not find room. */
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicLong lost = new AtomicLong();

    /**
     * Takes applications that nobody else drives.
     *
     * @param thread runs everything; not ended by this
     * @param clockNs ns of a clock that never goes back
     * @param lastRetryMs longest wait before a switch is read, or looked at, again that could not be
     * @param listener told of what concerns others
     */
    ControllerRunner(AppHost host, OnosSwitches switches, ScheduledExecutorService thread, LongSupplier clockNs,
            long lastRetryMs, ControlLoop.Listener listener) {
        this.host = host;
        this.switches = switches;
        this.thread = thread;
        this.lastRetryMs = lastRetryMs;
        PatientSwitches patient = new PatientSwitches(switches, this::later, this::isWorthWhile, lastRetryMs);
        this.loop = new ControlLoop(
                host, patient, new WallClock(thread, clockNs), thread, false, lastRetryMs, listener);
    }

    /** Takes up all switches that are there. */
    void start() {
        host.topology().nodes().stream().map(Node::device).forEach(this::check);
    }

    /** Looks whether a switch, or one of its ports, has come or gone: what an event says may be old when its turn comes. */
    void check(DeviceId device) {
        loop.execute(() -> checkNow(device));
    }

    /** Takes a packet from a switch; of a switch of another network, nothing. One that finds too many before it is lost. */
    void packetIn(DeviceId device, int port, byte[] frame) {
        if (waiting.incrementAndGet() > MOST_WAITING) {
            waiting.decrementAndGet();
            if (lost.getAndIncrement() == 0) {
                LOG.warn("packet-in queue full, dropping packets: limit {}", MOST_WAITING);
            }
            return;
        }
        loop.execute(() -> {
            waiting.decrementAndGet();
            loop.packetIn(device, port, frame);
        });
    }

    /** Gives an application an order. */
    void submit(String app, Event.Order order) {
        loop.submit(app, order);
    }

    /** Gives an application an order, and waits until that has taken it; IllegalStateException if it has ended. */
    void order(String app, Event.Order order, long timeoutMs) throws InterruptedException, TimeoutException {
        loop.order(app, order, timeoutMs);
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
        Map<Integer, Boolean> ports;
        try {
            available = switches.isAvailable(device);
            ports = switches.ports(device);
        } catch (RuntimeException e) {
            LOG.warn("device {}: availability unknown to ONOS: {}", device, e.toString());
            checkAgain(device);
            return;
        }
        unsure.remove(device);
        tellPorts(device, ports);
        if (available && connected.add(device)) {
            loop.found(device);
        } else if (!available && connected.remove(device)) {
            LOG.warn("device {}: lost", device);
            loop.cut(device);
            loop.lost(device);
        }
    }

    /** Apart from what the loop tries again: a read that is to come must not keep this from happening, nor this one that. */
    private void checkAgain(DeviceId device) {
        if (!lookedAtAgain.add(device)) {
            return;
        }
        Backoff backoff = unsure.computeIfAbsent(device, any -> Backoff.ofMs(() -> lastRetryMs));
        later(() -> {
            lookedAtAgain.remove(device);
            checkNow(device);
        }, backoff.afterFailure());
    }

    /** Ports have light until something else is known. */
    private void tellPorts(DeviceId device, Map<Integer, Boolean> ports) {
        Map<Integer, Boolean> known = light.computeIfAbsent(device, any -> new TreeMap<>());
        Map<Integer, Boolean> now = new TreeMap<>();
        known.keySet().forEach(gone -> now.put(gone, false));
        now.putAll(ports);
        now.forEach((port, isLit) -> {
            Boolean before = known.put(port, isLit);
            if (isLit != (before == null || before)) {
                loop.portChanged(device, port, isLit);
            }
        });
    }

    private boolean isWorthWhile(DeviceId device) {
        return connected.contains(device) && !loop.isClosed();
    }

    private void later(Runnable task, long delayMs) {
        try {
            thread.schedule(() -> loop.guarded(task), delayMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the app has stopped", e);
        }
    }
}
