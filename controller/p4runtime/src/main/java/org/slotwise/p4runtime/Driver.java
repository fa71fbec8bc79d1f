// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
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
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.App;
import org.slotwise.control.AppHost;
import org.slotwise.control.Clock;
import org.slotwise.control.Command;
import org.slotwise.control.ControlLoop;
import org.slotwise.control.Event;
import org.slotwise.control.Switches;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;
import org.slotwise.control.topology.Node;
import org.slotwise.lockstep.PortStatus;

/**
 * The switches of an {@link AppHost} over P4Runtime, on one server or more, and the {@link ControlLoop} that runs it. One thread drives
 * the loop and all sessions; what time is, and when a packet counts as come, is the subclass's.
 */
public abstract class Driver implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Driver.class);
    private static final int MAX_MESSAGE_BYTES = 64 << 20;
    private static final long STOP_TIMEOUT_S = 3;
    private static final long PACKET_LIFE_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LAST_RETRY_MS = 5000;

    private final ServerAddresses addresses;
    /** By address. */
    private final Map<String, Channels> channels = new TreeMap<>();
    private final EventLoopGroup driverThread = new NioEventLoopGroup(1, new DefaultThreadFactory("controller"));
    private final EventLoopGroup waitingThread = new NioEventLoopGroup(1, new DefaultThreadFactory("p4runtime"));
    private final ScheduledExecutorService executor;
    private final Map<DeviceId, DeviceSession> sessions = new TreeMap<>();
    private final ControlLoop loop;
    private final CompletableFuture<Void> configured = new CompletableFuture<>();
    private final CompletableFuture<Void> failure = new CompletableFuture<>();

    /**
     * With {@code waits} the thread waits for answers of switches, which are then on channels with a thread of their own.
     *
     * @param clock makes a clock of the thread
     */
    Driver(Setup setup, boolean waits, Function<ScheduledExecutorService, Clock> clock) {
        this.addresses = setup.addresses();
        this.executor = driverThread.next();
        this.loop = new ControlLoop(setup.host(), new Sessions(), clock.apply(executor), executor, waits, LAST_RETRY_MS,
                new LoopEvents(setup.noticeListener()));
        for (Node node : setup.host().topology().nodes()) {
            Pipeline program = setup.programs().get(node.program());
            if (program == null) {
                throw new IllegalArgumentException(node + ": unknown program '" + node.program() + "'");
            }
            addSession(setup, node.device(), program, waits);
        }
    }

    /**
     * To one server.
     *
     * @param streams its event loop is the driver's thread, so that no message waits for another one
     * @param calls the same one, or, where the driver waits for answers, one with a thread of its own
     */
    private record Channels(ManagedChannel streams, ManagedChannel calls, WriteWindow writes) {
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
     * @param host applications not yet used by anyone else
     * @param programs P4 programs by the name that nodes have for them; each node's must be there
     * @param addresses the P4Runtime servers
     * @param security plain text or TLS, of every server
     * @param electionId higher than that of any controller before
     * @param patience how long a switch is waited for, where time is this machine's
     * @param noticeListener told of what applications have to tell, on the driver's thread
     */
    public record Setup(AppHost host, Map<String, Pipeline> programs, ServerAddresses addresses, ChannelSecurity security,
            long electionId, Patience patience, Consumer<Command.Notice> noticeListener) {
    }

    private void addSession(Setup setup, DeviceId device, Pipeline pipeline, boolean waits) {
        Channels server = channels.computeIfAbsent(setup.addresses().of(device), address -> {
            ManagedChannel streams = channel(setup, address, driverThread, !waits);
            return new Channels(streams, waits ? channel(setup, address, waitingThread, false) : streams, new WriteWindow());
        });
        sessions.put(device, new DeviceSession(device, pipeline, ElectionId.of(setup.electionId()),
                // Where the driver waits for answers, this machine's time is of no account: it may have been stopped meanwhile.
                waits ? Patience.ENDLESS : setup.patience(), waits ? Long.MAX_VALUE : PACKET_LIFE_NS,
                server.streams(), server.calls(), server.writes(), loop::execute, new SessionEvents()));
    }

    /** Connects to all switches. */
    public void start() {
        loop.begin();
        sessions.values().forEach(session -> loop.execute(session::connect));
    }

    /** Completes when all applications are configured, or as {@link #failure}. */
    public CompletableFuture<Void> configured() {
        return configured;
    }

    /** Completes exceptionally if the driver cannot go on. */
    public CompletableFuture<Void> failure() {
        return failure;
    }

    /** What an application shows of itself; throws IllegalStateException if it has ended. */
    public <V> V view(App<V> app, long timeoutMs) throws InterruptedException, TimeoutException {
        return loop.view(app, timeoutMs);
    }

    /** Calls {@code question} between two events, with the applications to itself. */
    public <T> T ask(Callable<T> question, long timeoutMs) throws InterruptedException, TimeoutException {
        return loop.ask(question, timeoutMs);
    }

    /** Gives an application an order. */
    public void submit(String app, Event.Order order) {
        loop.submit(app, order);
    }

    /** Closes all streams and ends the thread. */
    @Override
    public void close() {
        loop.close();
        try {
            executor.execute(() -> sessions.values().forEach(DeviceSession::close));
        } catch (RejectedExecutionException again) {
            LOG.debug("already closed", again);
        }
        // First what the thread may wait for.
        channels.values().forEach(server -> server.calls().shutdownNow());
        try {
            for (Channels server : channels.values()) {
                server.streams().shutdownNow().awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS);
                server.calls().shutdownNow().awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        // A scheduler of somebody else's may never return.
        for (EventLoopGroup thread : List.of(driverThread, waitingThread)) {
            if (!thread.shutdownGracefully(0, STOP_TIMEOUT_S, TimeUnit.SECONDS).awaitUninterruptibly(2 * STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
                LOG.error("thread not stopped: its work is abandoned");
            }
        }
    }

    // ---- on the driver's thread ----

    /** Calls a switch again now: gRPC by itself waits ever longer, up to minutes, before it tries an address again. */
    final void reconnect(DeviceSession session) {
        channels.get(addresses.of(session.device())).streams().resetConnectBackoff();
        session.connect();
    }

    /** A packet came from a switch. */
    abstract void onPacketIn(DeviceSession session, int port, byte[] frame);

    /** A port of a switch has lost its light, or has it again. */
    abstract void onPort(DeviceSession session, int port, boolean up);

    /** A message that neither P4Runtime nor every driver knows came. */
    abstract void onOther(DeviceSession session, Any message);

    /** This controller is a switch's primary, on a new stream. */
    abstract void onPrimary(DeviceSession session);

    /** A switch was lost: sees to it that applications hear of that, and that it comes back. */
    abstract void onLost(DeviceSession session);

    /** What a switch was asked for, as this driver wants the answer. */
    <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
        return answer;
    }

    /** All applications are configured, for the first time. */
    void onConfigured() {
    }

    /** A packet was sent to a switch. */
    void onPacketOut() {
    }

    final ControlLoop loop() {
        return loop;
    }

    final Map<DeviceId, DeviceSession> sessions() {
        return sessions;
    }

    final ScheduledExecutorService executor() {
        return executor;
    }

    private final class LoopEvents implements ControlLoop.Listener {
        private final Consumer<Command.Notice> notices;

        LoopEvents(Consumer<Command.Notice> notices) {
            this.notices = notices;
        }

        @Override
        public void onNotice(Command.Notice notice) {
            notices.accept(notice);
        }

        @Override
        public void onConfigured() {
            Driver.this.onConfigured();
            configured.complete(null);
        }

        @Override
        public void onFailure(Throwable defect) {
            failure.completeExceptionally(defect);
            configured.completeExceptionally(defect);
        }
    }

    private final class SessionEvents implements DeviceSession.Listener {
        @Override
        public void onPrimary(DeviceSession session) {
            Driver.this.onPrimary(session);
        }

        @Override
        public void onLost(DeviceSession session, String reason) {
            LOG.warn("device {}: lost: {}", session.device(), reason);
            loop.cut(session.device());
            Driver.this.onLost(session);
        }

        @Override
        public void onPacketIn(DeviceSession session, int port, byte[] frame) {
            Driver.this.onPacketIn(session, port, frame);
        }

        @Override
        public void onOther(DeviceSession session, Any message) {
            if (!message.is(PortStatus.class)) {
                Driver.this.onOther(session, message);
                return;
            }
            try {
                PortStatus status = message.unpack(PortStatus.class);
                onPort(session, status.getPort(), status.getUp());
            } catch (InvalidProtocolBufferException e) {
                LOG.warn("device {}: invalid PortStatus message: {}", session.device(), e.getMessage());
            }
        }
    }

    /** The sessions as the loop's switches. */
    private final class Sessions implements Switches {
        @Override
        public CompletableFuture<List<TableEntry>> read(DeviceId device) {
            return asked(sessions.get(device).read());
        }

        @Override
        public CompletableFuture<Void> write(DeviceId device, List<Update> updates) {
            return asked(sessions.get(device).write(updates));
        }

        @Override
        public void send(DeviceId device, int port, byte[] frame) {
            if (sessions.get(device).sendPacket(port, frame)) {
                onPacketOut();
            }
        }

        @Override
        public void onRead(DeviceId device, int entries) {
            LOG.info("device {}: ready, {} table entries", device, entries);
        }

        /** Gives the switch up, so that it is called again. */
        @Override
        public boolean onReadFailed(DeviceId device, Throwable error) {
            sessions.get(device).fail(DeviceSession.describe(error));
            return false;
        }

        @Override
        public void onWritten(DeviceId device) {
            sessions.get(device).onAnswer(null);
        }

        @Override
        public void onWriteFailed(Command.Write write, Throwable error) {
            if (error instanceof UnknownNameException unknown) {
                throw unknown;
            }
            LOG.error("device {}: write failed: {}", write.device(), WriteErrors.describe(error, write.updates()));
            sessions.get(write.device()).onAnswer(error);
        }
    }
}
