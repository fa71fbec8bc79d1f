// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.DeviceWrites;
import org.slotwise.core.Command;
import org.slotwise.core.Event;
import org.slotwise.core.NetworkController;
import org.slotwise.core.Snapshot;
import org.slotwise.core.network.Core;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;
import org.slotwise.core.tables.TableEntry;
import org.slotwise.core.tables.Update;

/**
 * Runs a {@link NetworkController} against the P4Runtime servers of its network's switches, one for all or more. One thread drives the
 * controller and all sessions; what time is, and when a packet counts as come, is the subclass's.
 */
public abstract class Driver implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Driver.class);
    private static final int MAX_MESSAGE_BYTES = 64 << 20;
    private static final long STOP_TIMEOUT_S = 3;
    private static final long PACKET_LIFE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final NetworkController controller;
    private final Consumer<Command.ScheduleInForce> scheduleListener;
    private final ServerAddresses addresses;
    /** By address. */
    private final Map<String, Channels> channels = new TreeMap<>();
    private final EventLoopGroup driverThread = new NioEventLoopGroup(1, new DefaultThreadFactory("controller"));
    private final EventLoopGroup waitingThread = new NioEventLoopGroup(1, new DefaultThreadFactory("p4runtime"));
    private final ScheduledExecutorService executor;
    private final Map<DeviceId, DeviceSession> sessions = new TreeMap<>();
    private final DeviceWrites tables = new DeviceWrites(new SessionTables(), this::onAnswer, new Answers());
    private final CompletableFuture<Void> configured = new CompletableFuture<>();
    private final CompletableFuture<Void> failure = new CompletableFuture<>();

    /** With {@code waits} the thread waits for answers of switches, which are then on channels with a thread of their own. */
    Driver(Setup setup, boolean waits) {
        this.controller = setup.controller();
        this.scheduleListener = setup.scheduleListener();
        this.addresses = setup.addresses();
        this.executor = driverThread.next();
        for (Core core : setup.network().cores()) {
            addSession(setup, core.device(), setup.corePipeline(), waits);
        }
        for (Edge edge : setup.network().edges()) {
            addSession(setup, edge.device(), setup.edgePipeline(), waits);
        }
    }

    /**
     * To one server.
     *
     * @param streams its event loop is the driver's thread, so that no message waits for another one
     * @param calls the same one, or, where the driver waits for answers, one with a thread of its own
     */
    private record Channels(ManagedChannel streams, ManagedChannel calls) {
    }

    private static ManagedChannel channel(Setup setup, String address, EventLoopGroup thread, boolean keepAlive) {
        NettyChannelBuilder builder = NettyChannelBuilder.forTarget(address);
        setup.security().applyTo(builder);
        if (keepAlive) {
            // A switch that is there is heard more often than that, so that no server sees too many pings.
            builder.keepAliveTime(2 * setup.patience().silence().toMillis(), TimeUnit.MILLISECONDS)
                    .keepAliveTimeout(setup.patience().silence().toMillis(), TimeUnit.MILLISECONDS);
        }
        return builder.maxInboundMessageSize(MAX_MESSAGE_BYTES)
                .eventLoopGroup(thread).channelType(NioSocketChannel.class).directExecutor().build();
    }

    /**
     * What a driver needs.
     *
     * @param controller not yet used by anyone else
     * @param network the controller's network
     * @param addresses the P4Runtime servers
     * @param security plain text or TLS, of every server
     * @param electionId higher than that of any controller before
     * @param edgePipeline program of every edge
     * @param corePipeline program of every core
     * @param patience how long a switch is waited for
     * @param scheduleListener told of each schedule that comes into force, on the driver's thread
     */
    public record Setup(NetworkController controller, Network network, ServerAddresses addresses, ChannelSecurity security,
            long electionId, Pipeline edgePipeline, Pipeline corePipeline, Patience patience,
            Consumer<Command.ScheduleInForce> scheduleListener) {
    }

    private void addSession(Setup setup, DeviceId device, Pipeline pipeline, boolean waits) {
        Channels server = channels.computeIfAbsent(setup.addresses().of(device), address -> {
            ManagedChannel streams = channel(setup, address, driverThread, !waits);
            return new Channels(streams, waits ? channel(setup, address, waitingThread, false) : streams);
        });
        sessions.put(device, new DeviceSession(device, pipeline, ElectionId.of(setup.electionId()), setup.patience(),
                // Where the driver waits for answers, this machine's time is of no account.
                waits ? Long.MAX_VALUE : PACKET_LIFE_NS, server.streams(), server.calls(), this::onThread, new SessionEvents()));
    }

    /** Connects to all switches. */
    public void start() {
        sessions.values().forEach(session -> onThread(session::connect));
    }

    /** Completes when all switches have had all rules that do not depend on the schedule, or as {@link #failure}. */
    public CompletableFuture<Void> configured() {
        return configured;
    }

    /** Completes exceptionally if the driver cannot go on. */
    public CompletableFuture<Void> failure() {
        return failure;
    }

    /** Calls {@code question} between two events, with the controller to itself. */
    public <T> T ask(Callable<T> question, long timeoutMs) throws InterruptedException, TimeoutException {
        try {
            return executor.submit(question).get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the controller could not answer", e.getCause());
        } catch (RejectedExecutionException e) {
            throw new IllegalStateException("the controller has ended", e);
        }
    }

    /** The controller's state; to be called by {@link #ask}. */
    public Snapshot snapshot() {
        return controller.snapshot();
    }

    /** Takes an event from outside the switches. */
    public void submit(Event event) {
        onThread(() -> deliver(event));
    }

    /** Closes all streams and ends the thread. */
    @Override
    public void close() {
        onThread(() -> sessions.values().forEach(DeviceSession::close));
        try {
            for (Channels server : channels.values()) {
                server.streams().shutdownNow().awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS);
                server.calls().shutdownNow().awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        driverThread.shutdownGracefully(0, STOP_TIMEOUT_S, TimeUnit.SECONDS).awaitUninterruptibly();
        waitingThread.shutdownGracefully(0, STOP_TIMEOUT_S, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    // ---- on the driver's thread ----

    /** Calls a switch again now: gRPC by itself waits ever longer, up to minutes, before it tries an address again. */
    final void reconnect(DeviceSession session) {
        channels.get(addresses.of(session.device())).streams().resetConnectBackoff();
        session.connect();
    }

    /** Fabric time, ns. */
    abstract long nowNs();

    /** A packet came from a switch. */
    abstract void onPacketIn(DeviceSession session, Event.PacketIn packet);

    /** A message that P4Runtime does not define came. */
    abstract void onOther(DeviceSession session, com.google.protobuf.Any message);

    /** This controller is a switch's primary, on a new stream. */
    abstract void onPrimary(DeviceSession session);

    /** A switch was lost: delivers that, and sees to it that it comes back. */
    abstract void onLost(DeviceSession session);

    /** An answer of a switch came, and {@code task} takes it; on any thread. */
    abstract void onAnswer(Runnable task);

    /** What a switch was asked for, as this driver wants the answer. */
    <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
        return answer;
    }

    /** Does what must be done after an event: deadlines, announcements. */
    abstract void afterEvent();

    /** A write was refused, and the switch must be read again. */
    abstract void readAgain(DeviceSession session);

    final NetworkController controller() {
        return controller;
    }

    /** The order of reads and writes. */
    final DeviceWrites tables() {
        return tables;
    }

    final Map<DeviceId, DeviceSession> sessions() {
        return sessions;
    }

    final ScheduledExecutorService executor() {
        return executor;
    }

    final void deliver(Event event) {
        List<Command> commands = controller.onEvent(nowNs(), event);
        for (Command command : commands) {
            if (command instanceof Command.PacketOut packet) {
                if (sessions.get(packet.device()).sendPacket(packet.port(), packet.frame())) {
                    onPacketOut();
                }
            } else if (command instanceof Command.ReadTables read) {
                readAgain(sessions.get(read.device()));
            } else if (command instanceof Command.ScheduleInForce inForce) {
                scheduleListener.accept(inForce);
            }
        }
        for (Command command : commands) {
            if (command instanceof Command.Write write) {
                tables.write(write);
            }
        }
        afterEvent();
        if (controller.isConfigured() && !configured.isDone()) {
            configured.complete(null);
        }
    }

    /** A packet was sent to a switch. */
    void onPacketOut() {
    }

    /** A switch has done what it was told. */
    void onWritten(DeviceId device) {
    }

    final void fail(Throwable error) {
        failure.completeExceptionally(error);
        configured.completeExceptionally(error);
    }

    /** Runs a task on the driver's thread; an exception that gets out of it is a defect and ends the driver. */
    final void onThread(Runnable task) {
        try {
            executor.execute(guarded(task));
        } catch (RejectedExecutionException e) {
            LOG.debug("the driver has ended", e);
        }
    }

    final Runnable guarded(Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                fail(e);
            }
        };
    }

    private final class SessionEvents implements DeviceSession.Listener {
        @Override
        public void onPrimary(DeviceSession session) {
            Driver.this.onPrimary(session);
        }

        @Override
        public void onLost(DeviceSession session, String reason) {
            LOG.warn("device {}: lost: {}", session.device(), reason);
            tables.lose(session.device());
            Driver.this.onLost(session);
        }

        @Override
        public void onPacketIn(DeviceSession session, int port, byte[] frame) {
            Driver.this.onPacketIn(session, new Event.PacketIn(session.device(), port, frame));
        }

        @Override
        public void onOther(DeviceSession session, com.google.protobuf.Any message) {
            Driver.this.onOther(session, message);
        }
    }

    /** The sessions as the tables that are read and written. */
    private final class SessionTables implements DeviceWrites.Tables {
        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            return asked(sessions.get(device).read());
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            return asked(sessions.get(device).write(updates));
        }
    }

    private final class Answers implements DeviceWrites.Listener {
        @Override
        public void onRead(DeviceId device, List<TableEntry> entries) {
            LOG.info("device {}: ready, {} table entries", device, entries.size());
            deliver(new Event.DeviceReady(device, entries));
        }

        @Override
        public void onReadFailed(DeviceId device, Throwable error) {
            sessions.get(device).fail(DeviceSession.describe(error));
        }

        @Override
        public void onWritten(Command.Write write) {
            sessions.get(write.device()).onAnswer(null);
            Driver.this.onWritten(write.device());
            deliver(new Event.WriteDone(write.device(), write.batch()));
        }

        @Override
        public void onWriteFailed(Command.Write write, Throwable error) {
            if (error instanceof UnknownNameException) {
                fail(error);
                return;
            }
            LOG.error("device {}: write failed: {}", write.device(), WriteErrors.describe(error, write.updates()));
            sessions.get(write.device()).onAnswer(error);
            deliver(new Event.WriteFailed(write.device(), write.batch()));
        }
    }
}
